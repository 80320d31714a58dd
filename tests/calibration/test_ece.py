"""Calibration errors against numbers computed by hand and a plain loop."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keywright.calibration import ece

CONFIDENCE = np.array([0.05, 0.15, 0.15, 0.95, 1.0])
CORRECT = np.array([False, True, False, True, True])


def plain_ece(confidence: list[float], correct: list[bool], bins: int) -> float:
    """Equation 9, one phrase at a time."""
    inside: list[list[tuple[float, bool]]] = [[] for _ in range(bins)]
    for sure, right in zip(confidence, correct, strict=True):
        at = next((i for i in range(bins) if sure < (i + 1) / bins), bins - 1)
        inside[at].append((sure, right))
    return sum(
        len(bin) / len(confidence) * abs(sum(r for _, r in bin) - sum(s for s, _ in bin)) / len(bin)
        for bin in inside
        if bin
    )


def test_hand_computed_errors() -> None:
    gaps = {"0.0": abs(0 - 0.05), "0.1": abs(0.5 - 0.15), "0.9": abs(1 - 0.975)}
    expected = (1 * gaps["0.0"] + 2 * gaps["0.1"] + 2 * gaps["0.9"]) / 5
    assert ece.ece(CONFIDENCE, CORRECT) == pytest.approx(expected)
    assert ece.mce(CONFIDENCE, CORRECT) == pytest.approx(0.35)
    squares = [0.05**2, 0.85**2, 0.15**2, 0.05**2, 0]
    assert ece.brier(CONFIDENCE, CORRECT) == pytest.approx(sum(squares) / 5)


def test_certainty_is_in_the_last_bin_and_an_edge_belongs_to_the_bin_above() -> None:
    at = ece.bin_of(np.array([0.0, 0.1, 0.3, 0.7, 0.999, 1.0]), ece.equal_width(10))
    assert at.tolist() == [0, 1, 3, 7, 9, 9]


phrases = st.lists(
    st.tuples(
        st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.1, 0.3, 0.7, 1.0])), st.booleans()
    ),
    min_size=1,
    max_size=40,
)


@given(phrases, st.integers(1, 15))
def test_ece_equals_a_plain_loop(drawn: list[tuple[float, bool]], bins: int) -> None:
    confidence, correct = map(list, zip(*drawn, strict=True))
    found = ece.ece(np.array(confidence), np.array(correct), bins)
    assert found == pytest.approx(plain_ece(confidence, correct, bins))


@given(phrases)
def test_errors_keep_their_order_and_bounds(drawn: list[tuple[float, bool]]) -> None:
    confidence, correct = (np.array(column) for column in zip(*drawn, strict=True))
    error = ece.ece(confidence, correct)
    assert 0 <= error <= ece.mce(confidence, correct) + 1e-12 <= 1 + 2e-12
    assert error <= confidence.mean() + correct.mean() + 1e-12
    bins = ece.reliability(confidence, correct, ece.equal_width())
    assert sum(bin.count for bin in bins) == len(confidence)


def test_bins_of_equal_mass_have_equal_counts_and_keep_ties_together() -> None:
    confidence = np.arange(100) / 100
    edges = ece.equal_mass(confidence, 10)
    assert np.bincount(ece.bin_of(confidence, edges)).tolist() == [10] * 10
    same = np.full(50, 0.4)
    assert len(set(ece.bin_of(same, ece.equal_mass(same, 10)).tolist())) == 1


def test_adaptive_error_shows_what_one_wide_bin_hides() -> None:
    """Overconfidence at 0.91 and underconfidence at 0.99 cancel out in one bin of equal width."""
    confidence = np.repeat([0.91, 0.99], 50)
    correct = np.concatenate([np.arange(50) < 45, np.arange(50) < 50])
    assert ece.ece(confidence, correct) == pytest.approx(0.0, abs=1e-12)
    assert ece.adaptive_ece(confidence, correct, 2) == pytest.approx(0.01)


def test_auroc_counts_ties_one_half() -> None:
    assert ece.auroc(np.array([0.9, 0.8, 0.1]), np.array([True, True, False])) == 1.0
    assert ece.auroc(np.array([0.5, 0.5]), np.array([True, False])) == 0.5
    assert ece.auroc(np.array([0.1, 0.9]), np.array([True, False])) == 0.0
    for one_kind in (np.array([True, True]), np.array([False, False])):
        assert math.isnan(ece.auroc(np.array([0.1, 0.9]), one_kind))


def test_auroc_and_brier_agree_with_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    random = np.random.default_rng(1)
    confidence = np.round(random.random(500), 2)  # with ties
    correct = random.random(500) < confidence
    assert ece.auroc(confidence, correct) == pytest.approx(
        metrics.roc_auc_score(correct, confidence)
    )
    assert ece.brier(confidence, correct) == pytest.approx(
        metrics.brier_score_loss(correct, confidence)
    )


def test_an_empty_bar_has_no_means() -> None:
    first, *_, last = ece.reliability(CONFIDENCE, CORRECT, ece.equal_width())
    assert (first.count, first.confidence, first.accuracy) == (1, 0.05, 0.0)
    assert (last.low, last.high, last.count, last.accuracy) == (0.9, 1.0, 2, 1.0)
    empty = ece.reliability(CONFIDENCE, CORRECT, ece.equal_width())[5]
    assert (empty.count, empty.confidence, empty.accuracy) == (0, None, None)


def test_without_phrases_there_is_no_brier_score() -> None:
    assert math.isnan(ece.brier(np.array([]), np.array([], dtype=bool)))


def test_the_interval_of_a_bin_is_wilsons() -> None:
    """Values of the formula's textbook example: 3 of 4, and of an empty and a full bin."""
    low, high = ece.Bin(0.0, 0.1, 4, 0.05, 0.75).interval
    assert (low, high) == pytest.approx((0.3006, 0.9544), abs=1e-4)
    assert ece.Bin(0.0, 0.1, 5, 0.05, 0.0).interval == pytest.approx((0.0, 0.4345), abs=1e-4)
    assert ece.Bin(0.0, 0.1, 5, 0.05, 1.0).interval == pytest.approx((0.5655, 1.0), abs=1e-4)
    assert ece.Bin(0.0, 0.1, 0, None, None).interval is None
    assert ece.Bin(0.0, 0.1, 0, None, None).gap == 0.0
