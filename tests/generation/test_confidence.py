"""Calibrated probabilities, from the file beside a model to the phrases that are shown."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import keywright
from keywright import predictor
from keywright.calibration.recalibrate import Isotonic, Recalibrator
from keywright.errors import ConfigError, DataError
from keywright.export.run import export
from keywright.generation import engine
from keywright.generation.engine import Keywright, Selection
from keywright.generation.keyphrases import Keyphrase
from keywright.predictor import LoadedModel, load
from keywright.runtime.folder import MANIFEST
from keywright.types import Document, Prediction, ScoredPhrase
from tests.models.conftest import DOCUMENTS
from tests.runtime.models import MORE, make_pair

# Present phrases are right half as often as the model thinks, absent ones a tenth as often.
RECALIBRATOR = Recalibrator(
    method="isotonic",
    present=Isotonic(confidences=(0.0, 1.0), probabilities=(0.0, 0.5)),
    absent=Isotonic(confidences=(0.0, 1.0), probabilities=(0.0, 0.1)),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An exported model with a recalibrator, and `plain`, the same without."""
    made = tmp_path_factory.mktemp("confident")
    pair = make_pair(made, "transformer_one2seq")
    RECALIBRATOR.save(made / "fitted.json")
    export(pair.run, made / "model", confidence=made / "fitted.json")
    pair.exported.rename(made / "plain")
    return made


class Says:
    """Predicts the same for every document."""

    window = 1

    def __init__(self, **phrases: float) -> None:
        self.phrases = tuple(
            ScoredPhrase(text=text.replace("_", " "), token_log_probs=(log_prob,), words=1)
            for text, log_prob in phrases.items()
        )

    def predict(self, documents: Iterable[Document]) -> Iterator[Prediction]:
        return (Prediction(document_id=document.id, phrases=self.phrases) for document in documents)


def keywright_saying(
    monkeypatch: pytest.MonkeyPatch, recalibrator: Recalibrator | None, **phrases: float
) -> Keywright:
    loaded = LoadedModel(Says(**phrases), {}, recalibrator)
    monkeypatch.setattr(engine, "load", lambda model, **_: loaded)
    return Keywright("fake")


def test_predictions_of_an_exported_model_carry_its_confidences(folder: Path) -> None:
    documents = [*DOCUMENTS, *MORE]
    plain = list(load(folder / "plain").predict(documents))
    judged = list(load(folder / "model").predict(iter(documents)))
    assert any(prediction.phrases for prediction in plain)
    for document, before, after in zip(documents, plain, judged, strict=True):
        assert after == RECALIBRATOR.apply(document, before)
        assert all(phrase.confidence is not None for phrase in after.phrases)
        assert all(phrase.confidence is None for phrase in before.phrases)


def test_the_recalibrator_is_part_of_what_predictions_depend_on(folder: Path) -> None:
    assert load(folder / "plain").settings != load(folder / "model").settings


def test_a_changed_or_unlisted_confidence_file_is_refused(folder: Path, tmp_path: Path) -> None:
    for name in ("plain", "model"):
        copy = tmp_path / name
        copy.mkdir()
        for file in (folder / name).iterdir():
            (copy / file.name).write_bytes(file.read_bytes())
        (copy / "confidence.json").write_text("{}")
        with pytest.raises(DataError, match=rf"confidence.json: is not the file that {MANIFEST}"):
            load(copy)


def test_an_invalid_recalibrator_is_not_exported(folder: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"method": "magic"}')
    with pytest.raises(DataError, match=r"wrong\.json: is not a recalibrator"):
        export(folder / "run", tmp_path / "out", confidence=wrong)
    assert not (tmp_path / "out").exists()


def test_keyphrases_are_ordered_by_their_confidence(monkeypatch: pytest.MonkeyPatch) -> None:
    kw = keywright_saying(monkeypatch, RECALIBRATOR, astronomy=-0.01, sand=-0.5)
    found = kw.generate("Rivers carry sand.", Selection(top=0))
    assert [(keyphrase.text, keyphrase.present) for keyphrase in found] == [
        ("sand", True),
        ("astronomy", False),
    ]
    assert [keyphrase.probability for keyphrase in found] == pytest.approx([0.303, 0.099], abs=1e-3)
    assert kw.calibrated


def test_presence_is_decided_for_the_whole_document_not_for_a_window(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kw = keywright_saying(monkeypatch, RECALIBRATOR, sand=-0.5)
    body = "Nothing of note happens here at all. " * 100 + "Rivers carry sand."
    (found,) = kw.generate(body)
    assert found.present
    assert found.probability == pytest.approx(0.303, abs=1e-3)


def test_a_phrase_without_a_fitted_curve_has_no_probability(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recalibrator = Recalibrator(method="isotonic", present=RECALIBRATOR.present, absent=None)
    kw = keywright_saying(monkeypatch, recalibrator, astronomy=-0.01, sand=-3.0)
    found = kw.generate("Rivers carry sand.")
    assert [(keyphrase.text, keyphrase.probability is None) for keyphrase in found] == [
        ("sand", False),
        ("astronomy", True),
    ]


def phrases(*probabilities: float | None) -> list[Keyphrase]:
    return [
        Keyphrase(text=f"phrase {i}", probability=probability, present=True)
        for i, probability in enumerate(probabilities)
    ]


@pytest.mark.parametrize(
    ("precision", "kept"), [(0.95, 0), (0.9, 1), (0.85, 2), (0.8, 3), (0.7, 3), (0.6, 4), (0.1, 4)]
)
def test_the_longest_list_with_the_given_precision_is_kept(precision: float, kept: int) -> None:
    found = phrases(0.9, 0.8, 0.7, 0.2, None)  # means 0.9, 0.85, 0.8, 0.65
    assert Selection(precision=precision)(found, words=100) == found[:kept]


def test_precision_needs_calibrated_probabilities(monkeypatch: pytest.MonkeyPatch) -> None:
    kw = keywright_saying(monkeypatch, None, sand=-0.5)
    with pytest.raises(ConfigError, match="no calibrated probabilities"):
        kw.generate(["Rivers carry sand."], Selection(precision=0.8))


def test_the_default_model_is_used_if_none_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predictor, "DEFAULT_FOLDER", folder / "model")
    text = MORE[-1].text
    kw = keywright.Keywright()
    assert kw.calibrated
    assert kw.generate(text) == Keywright(folder / "model").generate(text)
    assert pickle.loads(pickle.dumps(kw)).generate(text) == kw.generate(text)
    assert kw.warnings(Document(title="", body="Тепловые насосы обогревают старые дома")) == [
        "is in a language that is not known; the model was trained on English, so phrases of the "
        "text are ranked by frequency and place, without probabilities"
    ]
    assert Keywright(folder / "model").warnings(Document(title="", body="Тепловые насосы")) == []


def test_an_installation_without_the_model_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predictor, "DEFAULT_FOLDER", tmp_path)
    with pytest.raises(ConfigError, match="has no default model"):
        Keywright()
