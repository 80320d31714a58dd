"""How many of the ranked candidates are predicted."""

from __future__ import annotations

import numpy as np
import pytest

from keywright.ranking.model import (
    NOISE,
    best_count,
    expected_count,
    platt_scaled,
)


def test_noise_is_never_predicted() -> None:
    assert best_count(np.full(50, 0.99 * NOISE)) == 0
    assert best_count(np.array([])) == 0
    assert best_count(np.array([0.6, 0.5, *[0.99 * NOISE] * 60])) == 2


@pytest.mark.parametrize("seed", range(5))
def test_the_number_maximises_the_expected_scores(seed: int) -> None:
    found = -np.sort(-np.random.default_rng(seed).beta(0.4, 2.0, 40))
    gold = found.sum()

    def expected(count: int) -> float:
        hits, hits_of_5 = found[:count].sum(), found[: min(count, 5)].sum()
        return float(hits / (count + gold) + hits_of_5 / (5 + gold))

    likely = int((found >= NOISE).sum())
    assert best_count(found) == max(range(1, likely + 1), key=expected)


def test_platt_scaling_is_a_line_of_log_odds() -> None:
    probabilities = np.array([0.1, 0.5, 0.8])
    odds = np.log(probabilities / (1 - probabilities))
    expected = 1 / (1 + np.exp(-(0.7 * odds - 0.3)))
    assert platt_scaled(odds, (0.7, -0.3)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("words", "expected"), [(0, 0), (8, 2), (15, 5), (60, 5), (100, 8), (120, 10), (9999, 10)]
)
def test_readers_expect_more_phrases_of_longer_texts(words: int, expected: int) -> None:
    assert expected_count(words) == expected
