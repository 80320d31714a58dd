"""Thresholds: the lowest one that is precise enough, tested on documents it was not found on."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from keywright.calibration.threshold import LEAST, threshold_for
from keywright.errors import KeywrightError
from tests.calibration.toys import drawn, sample


def test_the_threshold_is_the_lowest_that_reaches_the_precision() -> None:
    some = drawn(2_000, lambda c: c, seed=2)
    found = threshold_for(some, some.confidence, "present", 0.8, resamples=200)
    assert found.threshold is not None
    kept = some.confidence >= found.threshold
    assert some.correct[kept].mean() >= 0.8
    lower = np.sort(some.confidence[some.confidence < found.threshold])[-200:]
    assert all(some.correct[some.confidence >= threshold].mean() < 0.8 for threshold in lower)
    # A calibrated model: of phrases above t, (1 + t) / 2 are right.
    assert found.threshold == pytest.approx(0.6, abs=0.06)
    assert found.precision == pytest.approx(0.8, abs=0.04)
    low, high = found.intervals["precision"]
    assert low < 0.8 < high
    low, high = found.intervals["recall"]
    assert low < (found.recall or 0) < high < (found.recall_without or 0)


def test_recall_is_over_all_gold() -> None:
    some = sample([0.9] * 20 + [0.1] * 20, [True] * 20 + [False] * 20, np.arange(40) // 2)
    found = threshold_for(some, some.confidence, "present", 1.0, resamples=0)
    assert found.threshold == 0.9
    assert found.kept == 20
    assert found.precision == 1.0
    assert found.recall == 20 / 40  # 20 documents with 2 gold phrases each
    assert found.intervals == {}


def test_phrases_of_equal_confidence_are_kept_or_dropped_together() -> None:
    correct = np.arange(100) < 60  # the first 60 of 100 equals; their order must not matter
    some = sample([0.5] * 100, correct)
    assert threshold_for(some, some.confidence, "all", 0.7).threshold is None
    assert threshold_for(some, some.confidence, "all", 0.6).threshold == 0.5


def test_an_unreachable_precision_reports_the_highest_possible_one() -> None:
    some = drawn(500, lambda c: 0.3 * c)
    found = threshold_for(some, some.confidence, "present", 0.9, resamples=50)
    assert found.threshold is None
    assert found.precision is None
    assert (found.kept, found.recall) == (0, 0.0)
    assert found.highest is not None
    assert 0.2 < found.highest < 0.9


def test_a_few_lucky_phrases_do_not_make_a_threshold() -> None:
    lucky = sample([0.9] * (LEAST - 1) + [0.1] * 50, [True] * (LEAST - 1) + [False] * 50)
    assert threshold_for(lucky, lucky.confidence, "present", 0.9).threshold is None


def test_held_out_precision_is_not_too_optimistic() -> None:
    """Random labels: the best threshold in hindsight looks precise, but is not."""
    gains = []
    for seed in range(20):
        some = drawn(200, lambda c: np.full(len(c), 0.5), seed=seed)
        found = threshold_for(some, some.confidence, "present", 0.6, resamples=0)
        if found.threshold is not None and found.precision is not None:
            kept = some.confidence >= found.threshold
            gains.append(some.correct[kept].mean() - found.precision)
    assert len(gains) >= 5
    assert np.mean(gains) > 0.03


def test_parts_without_phrases_have_no_threshold() -> None:
    some = drawn(100, lambda c: c)
    found = threshold_for(some, some.confidence, "absent", 0.5, resamples=20)
    assert found.threshold is None
    assert found.highest is None
    assert found.recall is None


def test_phrases_without_a_probability_are_not_kept() -> None:
    some = drawn(200, lambda c: np.full(len(c), 0.9))
    unknown = np.where(np.arange(200) < 100, np.nan, some.confidence)
    found = threshold_for(some, unknown, "present", 0.5, resamples=0)
    assert 90 < found.kept <= 100


def test_bad_requests() -> None:
    some = drawn(100, lambda c: c)
    for wrong in (0.0, 1.5, float("nan")):
        with pytest.raises(KeywrightError, match="greater than 0 and at most 1"):
            threshold_for(some, some.confidence, "present", wrong)
    alone = dataclasses.replace(sample([0.5] * 20, [True] * 20, np.zeros(20, dtype=int)))
    with pytest.raises(KeywrightError, match="at least 2"):
        threshold_for(alone, alone.confidence, "present", 0.5)
