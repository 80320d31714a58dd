"""FB: a scorer's similarities through algorithm 1 of the paper, or the release's shortcut."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from keywright import checkpoint, evaluate, protocols, runs
from keywright.errors import ConfigError
from keywright.rewards import fb
from keywright.rewards._phrases import PhraseReader
from keywright.scorers.fitting import train
from keywright.scorers.scorer import load
from keywright.types import Document
from tests.rewards.made import document, make
from tests.runs import untrained_run
from tests.scorers.made import config

SIMILARITIES = {
    ("a b", "a b"): 1.0,
    ("a c", "a b"): 0.6,
    ("a c", "c"): 0.7,
    ("c x y", "c"): 0.4,
    ("z", "c"): 0.3,  # a synonym: no word of it is gold
}


class Table:
    """A scorer that looks scores up, and counts how often it is asked."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        self.calls.append(len(pairs))
        return [SIMILARITIES.get(pair, 0.1) for pair in pairs]


def build(table: Table, **settings: Any) -> fb.FBReward:
    reader = PhraseReader(protocols.load("chan19"))
    return fb.FBReward(fb.Config(scorer="table", **settings), reader, table)


def score(predictions: str, gold: str, **settings: Any) -> float:
    phrases = [phrase for phrase in predictions.split(";") if phrase]
    (found,) = build(Table(), **settings)([document(gold)], [phrases], "absent")
    return found


def test_a_prediction_scores_its_best_target() -> None:
    assert score("a c", "a b;c", quantity=False) == pytest.approx(0.7)
    assert score("z", "c") == pytest.approx(0.3), "without a word in common"


def test_algorithm_1_as_printed_is_the_default() -> None:
    # Scores 1, .7 and .4. The a of "a c" is used up by "a b", so it is rejected; it keeps its c, so
    # "c x y" is rejected, too. Three predictions, two targets: times 8/9.
    predictions, gold = "a b;a c;c x y", "a b;c"
    assert score(predictions, gold) == pytest.approx(1 / 3 * 8 / 9)
    assert score(predictions, gold, give_back=True) == pytest.approx(1.4 / 3 * 8 / 9)
    assert score(predictions, gold, repetition=False) == pytest.approx(2.1 / 3 * 8 / 9)
    assert score(predictions, gold, quantity=False) == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("predictions", "gold", "expected"),
    [
        ("a b;a c;c x y", "a b;c", 2.1 / 3 * (1 - 1 / 4)),  # no repetition penalty
        ("a b", "a b;c", 1 * (1 / 2) ** 2),
        ("a b;z", "a b;c", (1 + 0.3) / 2),
        ("a b;z;y;x", "a b", (1 + 3 * 0.1) / 4 * (1 - 9)),  # too many cost more than nothing
        ("a", "", -0.01),
        ("", "a", 0),
        ("", "", 0),
    ],
)
def test_the_shortcut_of_the_release(predictions: str, gold: str, expected: float) -> None:
    assert score(predictions, gold, algorithm="release") == pytest.approx(expected)


def test_nothing_is_worth_a_half_in_the_paper() -> None:
    assert score("", "") == 0.5
    assert score("a", "") == 0
    assert score("", "a") == 0


def test_a_repeat_counts_as_another_prediction() -> None:
    for algorithm in ("paper", "release"):
        found = score("a b;a b", "a b;c", algorithm=algorithm)
        assert found == pytest.approx((1 + 0) / 2), "one that scores 0, whatever the scorer says"


def test_a_batch_is_one_call_of_the_scorer() -> None:
    table = Table()
    found = build(table)
    documents = [document("a b;c"), document(""), document("c")]
    scores = found(documents, [["a b", "a c"], ["a"], []], "absent")
    assert table.calls == [4]
    assert scores == [pytest.approx((1 + 0) / 2), 0, 0]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scorer")
    train(config(folder, "train.epochs=1"), folder / "run")
    return folder / "run"


def test_a_trained_scorer_gives_the_similarities(run: Path) -> None:
    found = make("fb", scorer=str(run), quantity=False, repetition=False)
    scorer = load(run)
    best = max(scorer([("heat", "heat pump"), ("heat", "insul")]))
    one = document("heat pump;insulation")
    assert found([one], [["heat"]], "absent") == pytest.approx([best], abs=1e-6)


def test_the_metric_and_the_reward_agree_where_anything_is_there(run: Path) -> None:
    """They see the same phrases if nothing is repeated or dropped."""
    one = document("heat pump;wall", text="a heat pump and a wall")
    predictions = ["wall", "heat"]
    (found,) = make("fb", scorer=str(run))([one], [predictions], "present")
    scores = evaluate([one], [predictions], protocol=f"fb:scorer={run}", metrics=["present.FB"])
    assert scores["present.FB"] == pytest.approx(found)


def test_a_scorer_that_is_missing_is_refused_before_training(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"stage\.reward\.scorer: is required and missing"):
        make("fb")
    message = r"stage\.reward\.scorer: .*nowhere: is not the run folder of a scorer: .*train one"
    with pytest.raises(ConfigError, match=message):
        make("fb", scorer=str(tmp_path / "nowhere"))


def test_a_model_in_the_place_of_the_scorer_is_refused(tmp_path: Path) -> None:
    folder = untrained_run(tmp_path / "run", [Document(title="a", body="b", keyphrases=("a",))])
    with pytest.raises(ConfigError, match=r"reward\.scorer: .*keyphrase model, not of a scorer"):
        make("fb", scorer=str(folder))


def test_a_scorer_whose_weights_are_not_numbers_is_refused(run: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(run, tmp_path / "copy"))
    saved = checkpoint.load(copy / runs.BEST)
    saved.model["output.bias"].fill_(float("nan"))
    checkpoint.save(copy / runs.BEST, saved)
    with pytest.raises(ConfigError, match=r"stage\.reward: a scorer gives .* not a number"):
        make("fb", scorer=str(copy))
