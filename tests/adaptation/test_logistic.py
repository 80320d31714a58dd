"""The second stage: as the given model without data, as the data say with many."""

from __future__ import annotations

import numpy as np
import pytest

from keywright.adaptation.logistic import fit


def test_with_little_data_it_stays_near_the_given_log_odds() -> None:
    rows = np.array([[-2.0, 0.3], [1.0, -0.2], [0.5, 0.1], [-1.0, 0.0]], np.float32)
    weights = fit(rows, np.array([False, True, True, False]))
    assert weights.coefficients[0] == pytest.approx(1, abs=0.4)
    assert abs(weights.coefficients[1]) < 1


def test_with_much_data_it_finds_the_weights_and_is_calibrated() -> None:
    random = np.random.default_rng(0)
    rows = random.normal(size=(50_000, 3)).astype(np.float32)
    true = rows @ np.array([0.5, -1.0, 0.0]) - 2
    correct = random.random(len(rows)) < 1 / (1 + np.exp(-true))
    weights = fit(rows, correct)
    assert weights.coefficients == pytest.approx([0.5, -1.0, 0.0], abs=0.05)
    assert weights.intercept == pytest.approx(-2, abs=0.05)
    assert weights.probabilities(rows).mean() == pytest.approx(correct.mean(), abs=1e-6)


def test_constant_columns_and_one_kind_of_rows_do_no_harm() -> None:
    rows = np.array([[1.0, 7.0], [2.0, 7.0], [3.0, 7.0]], np.float32)
    weights = fit(rows, np.zeros(3, np.bool_))
    assert weights.coefficients[1] == 0
    assert np.isfinite(weights.probabilities(rows)).all()
