"""The shipped model is as good as it was: stored predictions, and the scores of real documents."""

from __future__ import annotations

import pytest

from keywright.calibration.calibrate import calibrate
from keywright.data.documents import read_documents
from keywright.evaluate import evaluate
from keywright.generation.engine import Keywright
from keywright.predictor import DEFAULT_FOLDER, load
from keywright.ranking.model import Ranker, RankerOptions, is_ranker
from keywright.types import Document, Prediction
from tests.generation.stored import KEYPHRASES, documents, predicted
from tests.shared import SHARED, needs_data

pytestmark = pytest.mark.skipif(
    not is_ranker(DEFAULT_FOLDER), reason="this tree does not hold the default model"
)
TEST = SHARED / "data" / "test"
# What the model of docs/model-card.md reaches on the same documents, less about one point.
FLOORS = {"present.F1@M": 0.36, "present.F1@5": 0.335, "absent.F1@M": 0.05}
CALIBRATION_ERRORS = {"present": 0.035, "absent": 0.02}


def test_the_keyphrases_of_stored_documents_are_unchanged() -> None:
    """If the model was replaced on purpose: `python -m tests.generation.stored`."""
    expected = KEYPHRASES.read_bytes().splitlines()
    assert predicted().splitlines() == expected


def test_the_stored_documents_exercise_the_model() -> None:
    given = documents()
    found = list(Keywright().generate(given))
    assert len(given) >= 12
    assert any(len(document.text.split()) > 400 for document in given)  # several windows
    assert sum(phrase.present for phrases in found for phrase in phrases) > 30
    assert sum(not phrase.present for phrases in found for phrase in phrases) > 2


def test_forty_absent_candidates_are_scored() -> None:
    """Few of them are ever recommended; `--top 0` and recall at 10 see the others."""
    given = documents()
    for judged in Ranker(DEFAULT_FOLDER, RankerOptions()).judged(given):
        assert len(judged.absent().phrases) == 40


def test_a_headline_gets_no_improbable_absent_phrases() -> None:
    """Those of science are no help elsewhere; for the title of a paper they are."""
    headline = Document(title="", body="Singer cancels tour after falling off the stage in Boston")
    paper = Document(title="", body="Secret sharing for wireless sensor networks")
    engine = Keywright()
    for document, expected in ((headline, False), (paper, True)):
        found = engine.generate(document, top=10)
        unsure = [phrase for phrase in found if not phrase.present and phrase.probability < 0.1]
        assert bool(unsure) == expected


@pytest.fixture(scope="module")
def tested() -> list[tuple[Document, Prediction]]:
    given = list(read_documents(TEST / "kp20k-1k.jsonl.xz"))[:300]
    return list(zip(given, load("default").predict(given), strict=True))


@pytest.mark.slow
@needs_data
def test_its_scores_do_not_fall(tested: list[tuple[Document, Prediction]]) -> None:
    given, predictions = zip(*tested, strict=True)
    found = evaluate(given, predictions, protocol="chan19", metrics=list(FLOORS), match="line")
    for metric, floor in FLOORS.items():
        assert found[metric] >= floor, metric


@pytest.mark.slow
@needs_data
def test_its_probabilities_are_calibrated(tested: list[tuple[Document, Prediction]]) -> None:
    """On new documents a phrase with probability p is correct in about p of the cases."""
    found = calibrate(tested, "chan19", resamples=0)
    for part, limit in CALIBRATION_ERRORS.items():
        error = found[part].scores["ECE"]
        assert error is not None
        assert error <= limit, part


def test_a_longer_list_of_a_headline_contains_the_shorter_one() -> None:
    """After the first five, phrases that contain each other give way; others are not lost."""
    headline = Document(title="", body="Alaska oil bill draws early fire from both parties")

    def listed(top: int) -> list[str]:
        (prediction,) = load("default", settings=[f"top={top}"]).predict([headline])
        return [phrase.text for phrase in prediction.phrases if phrase.recommended]

    every = listed(100)
    assert listed(5) == every[:5]
    assert len(listed(8)) == 8
    assert set(listed(6)) < set(listed(8)) < set(every)
    assert listed(8) != every[:8]
