"""How many of the ranked candidates are predicted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from keywright.ranking.model import (
    FEWEST_PRESENT,
    FIRST_FIVE,
    MOST_EXPECTED,
    NOISE,
    RECALL,
    best_count,
    expected_count,
    platt_scaled,
    present_count,
)


@pytest.mark.parametrize("choose", [best_count, present_count])
def test_noise_is_never_predicted(choose: Callable[[NDArray[np.float64]], int]) -> None:
    assert choose(np.full(50, 0.99 * NOISE)) == 0
    assert choose(np.array([])) == 0
    assert choose(np.array([0.6, 0.5, *[0.99 * NOISE] * 60])) == 2


@pytest.mark.parametrize("seed", range(5))
def test_the_number_maximises_the_expected_scores(seed: int) -> None:
    found = -np.sort(-np.random.default_rng(seed).beta(0.4, 2.0, 40))
    gold = found.sum()

    def expected(count: int) -> float:
        hits, hits_of_5 = found[:count].sum(), found[: min(count, 5)].sum()
        return float(hits / (count + gold) + hits_of_5 / (5 + gold))

    likely = int((found >= NOISE).sum())
    assert best_count(found) == max(range(1, likely + 1), key=expected)


@pytest.mark.parametrize("seed", range(8))
def test_the_number_of_present_phrases_maximises_precision_and_recall(seed: int) -> None:
    found = -np.sort(-np.random.default_rng(seed).beta(0.4, 2.0, 40))
    gold = found.sum()

    def expected(count: int) -> float:
        hits, hits_of_5 = found[:count].sum(), found[: min(count, 5)].sum()
        at_5 = hits_of_5 / 5 + hits_of_5 / gold
        return float(hits / count + RECALL * hits / gold + FIRST_FIVE * at_5)

    most = min(MOST_EXPECTED, int((found >= NOISE).sum()))
    assert present_count(found) == max(range(FEWEST_PRESENT, most + 1), key=expected)


def test_a_sure_phrase_is_not_left_alone() -> None:
    assert present_count(np.array([0.95, 0.03])) == 2
    assert present_count(np.array([0.95])) == 1


def test_platt_scaling_is_a_line_of_log_odds() -> None:
    probabilities = np.array([0.1, 0.5, 0.8])
    odds = np.log(probabilities / (1 - probabilities))
    expected = 1 / (1 + np.exp(-(0.7 * odds - 0.3)))
    assert platt_scaled(odds, (0.7, -0.3)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("words", "expected"), [(0, 0), (8, 2), (15, 5), (40, 6), (60, 10), (80, 10), (9999, 10)]
)
def test_readers_expect_more_phrases_of_longer_texts(words: int, expected: int) -> None:
    assert expected_count(words) == expected
