"""Correlation and agreement against hand-made values, scipy and the definitions."""

from __future__ import annotations

import numpy as np
import pytest

from keywright.analysis import correlation
from keywright.analysis.correlation import (
    COEFFICIENTS,
    Design,
    agree,
    bootstrap,
    coefficients,
    correlate,
)
from keywright.metric import Array

NAN = np.nan


def of(x: list[float] | Array, y: list[float] | Array) -> list[float]:
    """Pearson, Spearman, Kendall."""
    found: list[float] = coefficients(np.asarray(x, float), np.asarray(y, float), ones(x))[:, 0]
    return list(found)


def ones(x: list[float] | Array) -> Array:
    return np.ones((1, len(x)))


def each(count: int) -> correlation.Indices:
    return np.arange(count)


@pytest.mark.parametrize(
    ("x", "y", "pearson", "spearman", "kendall"),
    [
        ([1, 2, 3], [2, 4, 6], 1, 1, 1),
        ([1, 2, 3], [6, 4, 2], -1, -1, -1),
        ([1, 2, 3], [1, 3, 2], 1 / 2, 1 / 2, 1 / 3),
        # Deviations -1.5 -.5 .5 1.5 and -4.5 -2.5 -.5 7.5.
        ([1, 2, 3, 4], [1, 3, 5, 13], 19 / np.sqrt(5 * 83), 1, 1),
        # Deviations -1 0 0 1 and -1.25 -.25 .75 .75; ranks 1 2.5 2.5 4 and 1 2 3.5 3.5;
        # 4 pairs in the same order, 1 tied in x, 1 tied in y.
        ([1, 2, 2, 3], [1, 2, 3, 3], 2 / np.sqrt(2 * 2.75), 3.75 / 4.5, 4 / 5),
    ],
)
def test_values_worked_out_by_hand(
    x: list[float], y: list[float], pearson: float, spearman: float, kendall: float
) -> None:
    assert of(x, y) == pytest.approx([pearson, spearman, kendall], abs=1e-12)


@pytest.mark.parametrize("levels", [2, 5, 1000])
def test_scipy_gives_the_same(levels: int) -> None:
    """With few levels nearly everything is tied, with many hardly anything."""
    stats = pytest.importorskip("scipy.stats")
    random = np.random.default_rng(levels)
    for count in (3, 10, 200):
        x = random.integers(levels, size=count) / levels
        y = np.round(x + random.normal(size=count), 1)
        x[:2], y[:2] = (0, 1), (0, 1)  # not constant
        expected = [
            stats.pearsonr(x, y).statistic,
            stats.spearmanr(x, y).statistic,
            stats.kendalltau(x, y).statistic,
        ]
        assert of(x, y) == pytest.approx(expected, abs=1e-12)


def test_weights_count_items_as_often_as_they_say() -> None:
    random = np.random.default_rng(1)
    x, y = random.integers(6, size=(2, 40)).astype(float)
    weights = random.integers(4, size=(5, 40)).astype(float)
    found = coefficients(x, y, weights)
    for row, counts in enumerate(weights.astype(int)):
        expected = of(np.repeat(x, counts), np.repeat(y, counts))
        assert found[:, row] == pytest.approx(expected, abs=1e-12)


def test_neither_scale_nor_offset_matters() -> None:
    x, y = np.random.default_rng(2).normal(size=(2, 50))
    expected = of(x, y)
    assert of(1e9 + x, y) == pytest.approx(expected, abs=1e-6)
    assert of(x * 1e200, y * 1e-200) == pytest.approx(expected, abs=1e-12)


def test_a_constant_has_no_correlation() -> None:
    assert np.isnan(of([0.1, 0.1, 0.1], [1, 2, 3])).all()
    found = correlate(np.full(5, 0.1), np.arange(5.0), each(5), Design(100))
    assert {(estimate.value, estimate.interval) for estimate in found.values()} == {(None, None)}


def test_intervals_hold_the_value_and_follow_the_seed() -> None:
    random = np.random.default_rng(3)
    x = random.normal(size=80)
    y = np.round(x + random.normal(size=80))
    found = correlate(x, y, each(80), Design(500, seed=1))
    assert list(found) == list(COEFFICIENTS)
    for estimate in found.values():
        assert estimate.value is not None
        assert estimate.interval is not None
        low, high = estimate.interval
        assert low < estimate.value < high
        assert high - low < 0.4
    assert correlate(x, y, each(80), Design(500, seed=1)) == found
    assert correlate(x, y, each(80), Design(500, seed=2)) != found
    wide = correlate(x, y, each(80), Design(500, share=0.99, seed=1))["kendall"].interval
    assert wide is not None
    assert found["kendall"].interval is not None
    assert wide[0] < found["kendall"].interval[0]


def test_the_interval_is_as_wide_as_theory_says() -> None:
    """Fisher: the arc tangent of r has the standard deviation 1 / sqrt(n - 3)."""
    random = np.random.default_rng(4)
    x = random.normal(size=400)
    y = x + random.normal(size=400)
    estimate = correlate(x, y, each(400), Design(2000))["pearson"]
    assert estimate.value is not None
    middle, spread = np.arctanh(estimate.value), 1.96 / np.sqrt(397)
    assert estimate.interval == pytest.approx(np.tanh([middle - spread, middle + spread]), abs=0.02)


def test_items_of_a_group_are_drawn_together() -> None:
    groups = np.array([0, 1, 1, 2, 0])
    drawn: list[Array] = []

    def statistics(weights: Array) -> Array:
        drawn.append(weights)
        return np.zeros((1, len(weights)))

    bootstrap(statistics, groups, Design(50))
    weights = drawn[-1]
    assert weights.shape == (50, 5)
    assert (weights[:, 0] == weights[:, 4]).all()
    assert (weights[:, 1] == weights[:, 2]).all()
    assert (weights[:, [0, 1, 3]].sum(axis=1) == 3).all()
    assert len({tuple(row) for row in weights}) > 5


def test_one_group_alone_has_no_interval() -> None:
    found = correlate(np.arange(4.0), np.arange(4.0), np.zeros(4, int), Design(50))
    assert found["pearson"] == correlation.Estimate(1.0, None)


def test_chunks_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = np.random.default_rng(5).integers(9, size=(2, 30)).astype(float)
    whole = correlate(x, y, each(30), Design(40))
    monkeypatch.setattr(correlation, "CELLS", 100)
    parts = correlate(x, y, each(30), Design(40))
    for name in COEFFICIENTS:
        assert parts[name].interval == pytest.approx(whole[name].interval, abs=1e-12)
        assert parts[name].value == pytest.approx(whole[name].value, abs=1e-12)


# Krippendorff (2011), section C: four coders, twelve units; alpha is printed with three digits.
CODERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
).T


def test_the_published_example_of_alpha() -> None:
    found = agree(CODERS, each(12), Design(200))
    assert found["interval"].value == pytest.approx(0.849, abs=5e-4)
    assert found["ordinal"].value == pytest.approx(0.815, abs=5e-4)
    assert found["interval"].interval is not None
    assert found["interval"].interval[0] < 0.849 < found["interval"].interval[1]


def coincidence_alpha(table: Array, ordinal: bool) -> float:
    """By the definition: a matrix of coincidences and a matrix of differences."""
    values = np.unique(table[~np.isnan(table)])
    matrix = np.zeros((len(values), len(values)))
    for row in table:
        found = np.searchsorted(values, row[~np.isnan(row)])
        for i, c in enumerate(found):
            for j, k in enumerate(found):
                if i != j:
                    matrix[c, k] += 1 / (len(found) - 1)
    margins = matrix.sum(axis=0)
    count = margins.sum()
    observed = expected = 0.0
    for c in range(len(values)):
        for k in range(len(values)):
            low, high = min(c, k), max(c, k)
            rank = margins[low : high + 1].sum() - (margins[c] + margins[k]) / 2
            difference = rank if ordinal else values[c] - values[k]
            observed += matrix[c, k] * difference**2 / count
            expected += margins[c] * margins[k] * difference**2 / (count * (count - 1))
    return float(1 - observed / expected)


@pytest.mark.parametrize("seed", range(3))
def test_alpha_follows_its_definition(seed: int) -> None:
    random = np.random.default_rng(seed)
    table = random.integers(1, 6, size=(25, 1)) + random.integers(-1, 2, size=(25, 4)).astype(float)
    table[random.random(table.shape) < 0.3] = NAN
    found = agree(table, each(25), Design(0))
    assert found["interval"].value == pytest.approx(coincidence_alpha(table, False), abs=1e-12)
    assert found["ordinal"].value == pytest.approx(coincidence_alpha(table, True), abs=1e-12)
    assert found["ordinal"].interval is None


def test_alpha_at_its_ends() -> None:
    same = np.array([[1.0, 1], [2, 2], [5, 5]])
    assert agree(same, each(3), Design(0))["interval"].value == pytest.approx(1)
    opposite = np.array([[1.0, 5], [5, 1], [1, 5], [5, 1]])
    found = agree(opposite, each(4), Design(0))["interval"].value
    assert found is not None
    assert found < -0.5
    assert agree(np.full((4, 2), 3.0), each(4), Design(10))["interval"].value is None
    alone = np.array([[1.0, NAN], [NAN, 2], [3, NAN]])
    assert agree(alone, each(3), Design(10))["ordinal"].value is None
