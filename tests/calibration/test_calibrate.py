"""Calibration of predictions: parts, intervals, and what cannot be measured."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from keywright.calibration import bootstrap, ece
from keywright.calibration.calibrate import (
    Calibration,
    calibrate,
    measure_part,
    recalibration,
)
from keywright.errors import KeywrightError
from keywright.evaluate import Pair
from keywright.types import ScoredPhrase
from tests.calibration.toys import document, drawn, phrase, prediction, sample

PAIRS: list[Pair] = [
    (
        document("beam search keeps the best partial outputs", "beam search", "decoding"),
        prediction(
            phrase("beam search", 0.9, 0.9), phrase("outputs", 0.2), phrase("decoding", 0.4)
        ),
    ),
    (
        document("we parse sentences with a chart", "chart", "syntax"),
        prediction(phrase("sentences", 0.6), phrase("grammar", 0.1)),
    ),
]


def test_all_values_of_a_small_corpus() -> None:
    found = calibrate(PAIRS, resamples=50)
    present, absent, everything = (found[part] for part in ("present", "absent", "all"))
    assert (present.phrases, present.correct, absent.phrases, absent.correct) == (3, 1, 2, 1)
    assert everything.phrases == 5
    assert present.accuracy == pytest.approx(1 / 3)
    assert present.confidence == pytest.approx((0.9 + 0.2 + 0.6) / 3)
    assert present.scores["ECE"] == pytest.approx((0.1 + 0.2 + 0.6) / 3)
    assert absent.scores["ECE"] == pytest.approx((0.6 + 0.1) / 2)
    assert absent.scores["AUROC"] == 1.0
    assert found.perplexity["present"].median == pytest.approx(1 / 0.6)
    first, second = found.tokens["present"][:2]
    assert (first.count, first.mean) == (3, pytest.approx((0.9 + 0.2 + 0.6) / 3))
    assert (second.count, second.mean) == (1, pytest.approx(0.9))
    assert found.sections.gold == (1, 0, 0, 0, 1)
    assert found.sections.found == (1, 0, 0, 0, 0)
    assert found.notes == ()
    assert "protocol:chan19" in found.signature
    assert "bins:10" in found.signature


def test_values_can_be_written_as_json() -> None:
    found = calibrate(PAIRS, resamples=20)
    again = msgspec.json.decode(msgspec.json.encode(found), type=Calibration)
    assert again == found


def test_the_bootstrap_resamples_whole_documents() -> None:
    """The fast sums of the bootstrap equal drawing documents and measuring again."""
    some = drawn(60, lambda c: 0.7 * c, per_document=4)
    part = measure_part(some, some.confidence, "all", 10, resamples=20, seed=3)
    values: dict[str, list[float]] = {"ECE": [], "Brier": [], "AUROC": []}
    for weights in bootstrap.weights(some.documents, 20, seed=3):
        for row in weights.astype(int):
            drawn_phrases = np.repeat(np.arange(len(some)), row[some.document])
            confidence, correct = some.confidence[drawn_phrases], some.correct[drawn_phrases]
            values["ECE"].append(ece.ece(confidence, correct))
            values["Brier"].append(ece.brier(confidence, correct))
            values["AUROC"].append(ece.auroc(confidence, correct))
    assert part.intervals["Brier"] == pytest.approx(bootstrap.percentile(np.array(values["Brier"])))
    assert part.intervals["AUROC"] == pytest.approx(bootstrap.percentile(np.array(values["AUROC"])))
    estimate = ece.ece(some.confidence, some.correct)
    assert part.intervals["ECE"] == pytest.approx(
        bootstrap.mirrored(estimate, np.array(values["ECE"]))
    )


def test_intervals_cover_the_true_value() -> None:
    """Accuracy 0.7 c: the true ECE is 0.15. Errors are absolute, so coverage is below 95%."""
    covered = 0
    for seed in range(60):
        some = drawn(1000, lambda c: 0.7 * c, seed=seed)
        low, high = measure_part(some, some.confidence, "all", 10, 200, seed).intervals["ECE"]
        covered += low <= 0.15 <= high
    assert covered >= 48


def test_the_seed_determines_the_intervals() -> None:
    some = drawn(100, lambda c: c)
    first, again, other = (
        measure_part(some, some.confidence, "all", 10, 100, seed) for seed in (1, 1, 2)
    )
    assert first == again
    assert first.intervals != other.intervals
    assert first.scores == other.scores


def test_one_document_has_no_intervals() -> None:
    found = calibrate(PAIRS[:1])
    assert found["all"].scores["ECE"] is not None
    assert not found["all"].intervals
    assert any("only one" in note for note in found.notes)


@pytest.mark.parametrize(
    ("gold", "how"), [("nothing", "none of them is"), ("chart", "all of them are")]
)
def test_all_or_none_correct_leaves_out_auroc_and_says_so(gold: str, how: str) -> None:
    pairs = [(document("a chart", gold), prediction(phrase("chart", 0.5)))] * 2
    found = calibrate(pairs, resamples=20)
    assert found["present"].scores["AUROC"] is None
    assert found["present"].scores["ECE"] == pytest.approx(0.5)
    assert f"AUROC of present phrases is left out: {how} correct" in found.notes
    assert "absent phrases are left out: none was predicted" in found.notes


def test_without_probabilities_only_the_sections_remain() -> None:
    pairs = [(document("a chart", "chart"), prediction(ScoredPhrase(text="chart")))]
    found = calibrate(pairs)
    assert found["present"].phrases == 0
    assert set(found["all"].scores.values()) == {None}
    assert found.sections.found == (0, 1, 0, 0, 0)
    (note,) = found.notes
    assert "no phrase has token probabilities" in note
    assert "AUROC" in note
    assert "token positions" in note


def test_some_without_probabilities_are_counted_in_a_note() -> None:
    made = prediction(ScoredPhrase(text="chart"), phrase("a", 0.5))
    found = calibrate([(document("a chart", "chart"), made)])
    assert any(note.startswith("1 of 2 phrases") for note in found.notes)


def test_no_phrase_at_all() -> None:
    found = calibrate([(document("a chart", "chart"), prediction())])
    assert any("no phrase was predicted" in note for note in found.notes)


def test_recalibration_compares_the_same_phrases() -> None:
    some = drawn(200, lambda c: 0.5 * c)
    found = recalibration(some, 0.5 * some.confidence, resamples=20)
    before, after = found.before["present"], found.after["present"]
    assert before.phrases == after.phrases == 200
    assert before.scores["ECE"] == ece.ece(some.confidence, some.correct)
    assert (after.scores["ECE"] or 1) < (before.scores["ECE"] or 0)
    assert after.scores["AUROC"] == before.scores["AUROC"]


def test_the_number_of_bins_must_be_positive() -> None:
    with pytest.raises(KeywrightError, match="at least 1"):
        calibrate(PAIRS, bins=0)


def test_phrases_without_a_probability_after_recalibration_are_left_out() -> None:
    some = sample([0.2, 0.8], [False, True])
    part = measure_part(some, np.array([np.nan, 0.8]), "present", 10, 0, 0)
    assert part.phrases == 1
