"""Coefficients of correlation and agreement, with bootstrap intervals; numpy is all they need.

* Pearson's r.
* Spearman's rho: Pearson's r of the ranks; tied values share the mean of their ranks.
* Kendall's tau-b: pairs in the same order minus pairs in opposite order, divided by the geometric
  mean of the numbers of pairs that are not tied in the one variable and in the other.
* Krippendorff's alpha (2011): 1 - observed / expected disagreement of annotators, of whom not all
  need to have rated everything.

Each is written for weighted items, [resamples, items]: weights of 1 give its value, and how often
each group of items was drawn with replacement gives a resample of the bootstrap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keywright.metric import Array

COEFFICIENTS = ("pearson", "spearman", "kendall")
LEVELS = ("interval", "ordinal")
# Weights, or signs of pairs, held at once.
CELLS = 1 << 21

Indices = NDArray[np.int64]
Statistics = Callable[[Array], Array]
"""From weights [resamples, items] to values [statistics, resamples], NaN where not defined."""


@dataclass(frozen=True)
class Design:
    """How intervals are made: percentiles of a bootstrap (no intervals if `resamples` is 0)."""

    resamples: int = 1000
    share: float = 0.95
    seed: int = 0


@dataclass(frozen=True)
class Estimate:
    """A value and its bootstrap interval; None where they are not defined."""

    value: float | None
    interval: tuple[float, float] | None = None


def correlate(x: Array, y: Array, groups: Indices, design: Design) -> dict[str, Estimate]:
    """Every coefficient of two variables [items].

    Items of one group, numbered from 0, are resampled together.
    """
    found = estimates(lambda weights: coefficients(x, y, weights), groups, design)
    return dict(zip(COEFFICIENTS, found, strict=True))


def agree(table: Array, groups: Indices, design: Design) -> dict[str, Estimate]:
    """Krippendorff's alpha of ratings [items, annotators], NaN where there is none, for ratings as
    numbers (interval) and as ranks (ordinal)."""
    table_groups = np.broadcast_to(groups[:, None], table.shape)
    rated = ~np.isnan(table)
    rated &= rated.sum(axis=1, keepdims=True) > 1  # one rating alone agrees with nobody
    if not rated.any():
        return dict.fromkeys(LEVELS, Estimate(None))
    values, units = table[rated], np.nonzero(rated)[0]
    _, units = np.unique(units, return_inverse=True)
    _, drawn = np.unique(table_groups[rated], return_inverse=True)
    found = estimates(lambda weights: alphas(values, units, weights), drawn, design)
    return dict(zip(LEVELS, found, strict=True))


def estimates(statistics: Statistics, groups: Indices, design: Design) -> list[Estimate]:
    """The statistics of all items, with intervals from resamples of the groups."""
    values = statistics(np.ones((1, len(groups))))[:, 0]
    resampled = bootstrap(statistics, groups, design)
    tail = (1 - design.share) / 2
    found = []
    for value, row in zip(values, resampled, strict=True):
        # A resample may be constant by chance and have no correlation.
        row = row[~np.isnan(row)]
        interval = np.quantile(row, [tail, 1 - tail]) if len(row) and not np.isnan(value) else None
        found.append(
            Estimate(
                None if np.isnan(value) else float(value),
                None if interval is None else (float(interval[0]), float(interval[1])),
            )
        )
    return found


def bootstrap(statistics: Statistics, groups: Indices, design: Design) -> Array:
    """[statistics, resamples], as many groups drawn with replacement as there are."""
    random = np.random.default_rng(design.seed)
    count = int(groups.max()) + 1
    step = max(1, CELLS // len(groups))
    chunks = [statistics(np.ones((1, len(groups))))[:, :0]]
    for start in range(0, design.resamples if count > 1 else 0, step):
        size = min(step, design.resamples - start)
        drawn = random.multinomial(count, np.full(count, 1 / count), size=size)
        chunks.append(statistics(drawn[:, groups].astype(np.float64)))
    return np.concatenate(chunks, axis=1)


def coefficients(x: Array, y: Array, weights: Array) -> Array:
    """[3, resamples] in the order of `COEFFICIENTS`; NaN where a variable is constant."""
    pairs_x, pairs_y = _untied_pairs(x, weights), _untied_pairs(y, weights)
    defined = (pairs_x > 0) & (pairs_y > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.stack(
            [
                _pearson(_scaled(x), _scaled(y), weights),
                _pearson(ranks(x, weights), ranks(y, weights), weights),
                _concordance(x, y, weights) / np.sqrt(pairs_x * pairs_y),
            ]
        )
    return np.where(defined, np.clip(found, -1, 1), np.nan)


def alphas(values: Array, units: Indices, weights: Array) -> Array:
    """[2, resamples] in the order of `LEVELS`, of ratings [ratings] of units, which are sorted.

    Of the ordinal level Krippendorff's difference of two ratings is that of their mean ranks, so
    it is the interval level of ranks.
    """
    defined = _untied_pairs(values, weights) > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.stack(
            [
                _interval_alpha(_scaled(values)[None, :], units, weights),
                _interval_alpha(ranks(values, weights), units, weights),
            ]
        )
    return np.where(defined, found, np.nan)


def ranks(values: Array, weights: Array) -> Array:
    """Ranks from 1, [resamples, items], as if each item were there as often as its weight says."""
    groups, sums = _tied_weights(values, weights)
    found: Array = (np.cumsum(sums, axis=1) - sums / 2 + 0.5)[:, groups]
    return found


def _tied_weights(values: Array, weights: Array) -> tuple[Indices, Array]:
    """Which of the distinct values, in rising order, each item has [items], and the weight of each
    distinct value [resamples, distinct]."""
    _, starts, groups = np.unique(np.sort(values), return_index=True, return_inverse=True)
    order = np.argsort(values, kind="stable")
    sums = np.add.reduceat(weights[:, order], starts, axis=1)
    places = np.empty_like(groups)
    places[order] = groups
    return places, sums


def _untied_pairs(values: Array, weights: Array) -> Array:
    """The number of ordered pairs that differ, [resamples]: exactly 0 for a constant."""
    _, sums = _tied_weights(values, weights)
    found: Array = sums.sum(axis=1) ** 2 - (sums**2).sum(axis=1)
    return found


def _scaled(values: Array) -> Array:
    """Around 0 and up to 1, so that squares neither cancel nor overflow."""
    centred = values / max(float(np.abs(values).max()), 1e-300)
    centred = centred - centred.mean()
    found: Array = centred / (float(np.abs(centred).max()) or 1.0)
    return found


def _pearson(x: Array, y: Array, weights: Array) -> Array:
    """Of variables [items] or [resamples, items]."""
    total = weights.sum(axis=1, keepdims=True)
    x = x - (weights * x).sum(axis=1, keepdims=True) / total
    y = y - (weights * y).sum(axis=1, keepdims=True) / total
    spread = (weights * x * x).sum(axis=1) * (weights * y * y).sum(axis=1)
    found: Array = (weights * x * y).sum(axis=1) / np.sqrt(spread)
    return found


def _concordance(x: Array, y: Array, weights: Array) -> Array:
    """Ordered pairs in the same order minus those in opposite order, [resamples]."""
    found = np.zeros(len(weights))
    step = max(1, CELLS // len(x))
    for start in range(0, len(x), step):
        part = slice(start, start + step)
        signs = np.sign(x[part, None] - x) * np.sign(y[part, None] - y)
        found += ((weights @ signs.T) * weights[:, part]).sum(axis=1)
    return found


def _interval_alpha(values: Array, units: Indices, weights: Array) -> Array:
    """1 - (n - 1) / n * (sum over units of m S / (m - 1)) / S', with n ratings, m of a unit, and
    sums of squared deviations S within a unit and S' within all: Krippendorff's coincidences of
    squared differences, without a matrix of them. `values` are [1 or resamples, ratings]."""
    sizes = np.bincount(units)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    means = np.add.reduceat(values, starts, axis=1) / sizes
    within = (values - means[:, units]) ** 2 * (sizes / (sizes - 1))[units]
    count = weights.sum(axis=1)
    middle = (weights * values).sum(axis=1) / count
    total = (weights * (values - middle[:, None]) ** 2).sum(axis=1)
    found: Array = 1 - (count - 1) / count * (weights * within).sum(axis=1) / total
    return found
