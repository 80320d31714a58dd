"""Exported models predict what torch predicts, without torch."""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from keywright import predictor, runtime
from keywright.errors import ConfigError, DataError
from keywright.types import Document
from tests.models.conftest import DOCUMENTS
from tests.runtime.models import BABBLE, MORE, NAMES, Pair, make_pair, phrases


@pytest.fixture(scope="module", params=NAMES)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return make_pair(tmp_path_factory.mktemp(request.param), request.param)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_pair(tmp_path_factory.mktemp("one"), "pretrained_one2seq").exported


@pytest.mark.parametrize(
    "settings",
    [
        (),
        ("unique_tokens=true", "unique_phrases=true"),
        ("unique_starts=false", "max_phrases=2"),
        ("max_phrase=1", "unknown=replace"),
        ("max_length=40", "max_phrases=20", "starts_window=2"),
    ],
)
def test_it_predicts_what_torch_predicts(pair: Pair, settings: tuple[str, ...]) -> None:
    documents = (*DOCUMENTS, *MORE)
    torch = list(predictor.load(pair.run, settings=settings).predict(documents))
    ours = list(runtime.load(pair.exported, settings=settings).predict(documents))
    assert phrases(ours) == phrases(torch)
    assert sum(len(prediction.phrases) for prediction in ours) >= 5
    assert [p.document_id for p in ours] == [d.id for d in documents]
    for mine, other in zip(ours, torch, strict=True):
        for a, b in zip(mine.phrases, other.phrases, strict=True):
            assert a.words == b.words
            assert a.token_log_probs == pytest.approx(b.token_log_probs, abs=1e-4)
            assert a.score == pytest.approx(b.score, abs=1e-4)


@pytest.mark.parametrize("more", [(), ("temperature=0.5", "all_phrases=true", "seed=2")])
def test_it_draws_and_chooses_as_torch_does(pair: Pair, more: tuple[str, ...]) -> None:
    settings = [*(f"{name}={str(value).lower()}" for name, value in BABBLE.items()), *more]
    chosen = {"decode": "expected_f1", "settings": [*settings, "samples=8", "min_share=0.1"]}
    torch = predictor.load(pair.run, **chosen)
    ours = predictor.load(pair.exported, **chosen)
    assert not ours.states_confidence  # the settings forbid some phrases
    assert ours.window == torch.window
    found, expected = list(ours.predict(MORE)), list(torch.predict(MORE))
    assert phrases(found) == phrases(expected)
    assert sum(len(prediction.phrases) for prediction in found) >= 5
    for mine, other in zip(found, expected, strict=True):
        assert [p.score for p in mine.phrases] == [p.score for p in other.phrases]
        assert [p.confidence for p in mine.phrases] == [p.confidence for p in other.phrases]


def test_samples_of_the_model_itself_are_stated_as_confidences(exported: Path) -> None:
    plain = predictor.load(exported, decode="expected_f1", settings=["samples=4"])
    assert plain.states_confidence
    assert not plain.calibrated
    assert not predictor.load(exported).states_confidence
    # Settings of greedy search do not count for another strategy.
    assert plain.settings["decode"].get("max_phrase") is None


def test_it_copies_words_that_are_not_in_the_vocabulary(pair: Pair) -> None:
    unheard = Document(title="", body="zorbification " * 30 + "of glimwocks")
    (ours,) = runtime.load(pair.exported).predict([unheard])
    (torch,) = predictor.load(pair.run).predict([unheard])
    assert ours.texts == torch.texts
    assert "zorbification" in " ".join(ours.texts)


def test_a_document_gets_the_same_phrases_alone_and_in_a_batch(pair: Pair) -> None:
    alone = phrases(runtime.load(pair.exported, batch=1).predict(MORE))
    assert phrases(runtime.load(pair.exported, batch=9).predict(MORE)) == alone


def test_the_number_of_phrases_can_be_bounded(exported: Path) -> None:
    bounds = [["max_phrases=1"], ["min_phrases=4", "max_phrases=4"]]
    counts = [
        len(next(runtime.load(exported, settings=[*s, "unknown=keep"]).predict(MORE[-1:])).phrases)
        for s in bounds
    ]
    assert counts == [1, 4]


def test_it_needs_no_torch(exported: Path) -> None:
    """Neither torch nor the library that writes graphs is imported."""
    program = (
        "import sys\n"
        "from keywright import predictor\n"
        "from keywright.types import Document\n"
        f"loaded = predictor.load({str(exported)!r})\n"
        "document = Document(title='', body='rivers carry sand to the sea')\n"
        "assert next(loaded.predict([document])).phrases\n"
        "heavy = {'torch', 'transformers', 'onnx', 'scipy', 'sklearn'} & sys.modules.keys()\n"
        "sys.exit(f'imported: {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_it_can_be_pickled(exported: Path) -> None:
    loaded = runtime.load(exported, settings=["max_phrases=2"], batch=3, threads=1)
    again = pickle.loads(pickle.dumps(loaded))
    assert list(again.predict(MORE)) == list(loaded.predict(MORE))
    assert again.window == loaded.window


def test_threads_can_share_it(exported: Path) -> None:
    loaded = runtime.load(exported, threads=1)
    expected = list(loaded.predict(MORE))
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: list(loaded.predict(MORE)), range(12)))
    assert all(result == expected for result in results)


def test_the_predictor_loads_it_from_its_folder(exported: Path) -> None:
    loaded = predictor.load(exported, settings=["decode.max_phrases=2"], batch=4, max_source=20)
    assert loaded.window == 4 * 16
    assert loaded.settings["decode"]["max_phrases"] == 2
    assert loaded.settings["max_source"] == 20
    assert all(len(prediction.phrases) <= 2 for prediction in loaded.predict(MORE))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"decode": "beam"}, "it can be decoded with greedy or expected_f1, not with beam"),
        ({"settings": ["samples=3"]}, "decode.samples: unknown"),
        ({"decode": "expected_f1", "settings": ["samples=0"]}, "decode.samples"),
        ({"settings": ["width=3"]}, "decode.width: unknown"),
        ({"settings": ["max_phrases=0"]}, "decode.max_phrases"),
        ({"max_source": 65}, "65 is more than the 64 tokens that the encoder can read"),
    ],
)
def test_impossible_options_are_refused(exported: Path, arguments: dict, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        predictor.load(exported, **arguments)
    assert message in str(raised.value)


def _cut_weights(folder: Path) -> None:
    (folder / "weights.bin").write_bytes((folder / "weights.bin").read_bytes()[:-1])


def _other_format(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "format": 99}))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_cut_weights, r"weights.bin: is not the file that manifest.json describes"),
        (_other_format, r"has format 99, but .* reads format 3; export the model again"),
        (lambda folder: (folder / "decoder.onnx").unlink(), r"decoder.onnx: is missing"),
        (lambda folder: (folder / "manifest.json").write_text("{}"), r"does not describe an exp"),
        (lambda folder: (folder / "manifest.json").unlink(), r"is not an exported model"),
    ],
)
def test_a_damaged_folder_says_what_is_wrong(exported, tmp_path, damage, message) -> None:
    folder = shutil.copytree(exported, tmp_path / "damaged")
    damage(folder)
    with pytest.raises(DataError, match=message):
        runtime.load(folder)


def test_unusual_documents_are_accepted(pair: Pair) -> None:
    odd = [
        Document(title="", body=""),
        Document(title="x", body=""),
        Document(title="", body="\x00 � \n\n ;;; <eos> <pad> [CLS]"),
        Document(title="", body="sand " * 5000),
    ]
    assert len(list(runtime.load(pair.exported, max_source=64).predict(odd))) == len(odd)
    assert list(runtime.load(pair.exported).predict([])) == []
