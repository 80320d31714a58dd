"""Numbers in intervals: the minimum description length principle (Fayyad and Irani 1993)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Labels = NDArray[np.bool_]


def mdl_cuts(values: Array, labels: Labels) -> list[float]:
    """Where to cut `values` [N] so that the intervals tell the two `labels` [N] apart.

    The best cut of an interval minimises the entropy of the labels; it is accepted if what it
    saves exceeds the cost of describing it (criterion of section 3). Cuts are half-way between
    values.
    """
    order = np.argsort(values, kind="stable")
    return _cuts(values[order], labels[order].astype(np.float64))


def _cuts(values: Array, labels: Array) -> list[float]:
    places = np.flatnonzero(values[1:] > values[:-1]) + 1  # the first index of the right side
    if not len(places):
        return []
    count, positive = len(values), np.cumsum(labels)
    left, right = places, count - places
    left_positive = positive[places - 1]
    right_positive = positive[-1] - left_positive
    left_entropy, right_entropy = entropy(left_positive, left), entropy(right_positive, right)
    best = int(np.argmin(left * left_entropy + right * right_entropy))
    sides = [(left[best], left_entropy[best], left_positive[best])]
    sides.append((right[best], right_entropy[best], right_positive[best]))
    whole = float(entropy(positive[-1:], np.array([count]))[0])
    gain = whole - sum(size * found for size, found, _ in sides) / count
    if gain <= _cost(whole, _classes(positive[-1], count), sides) / count:
        return []
    at = places[best]
    cut = float(values[at - 1] + values[at]) / 2
    return [*_cuts(values[:at], labels[:at]), cut, *_cuts(values[at:], labels[at:])]


def _cost(whole: float, classes: int, sides: list[tuple[float, float, float]]) -> float:
    """log2(N - 1) + log2(3^k - 2) - (k E - k1 E1 - k2 E2)."""
    count = sum(size for size, _, _ in sides)
    inside = sum(_classes(positive, size) * found for size, found, positive in sides)
    return float(np.log2(count - 1) + np.log2(3.0**classes - 2) - (classes * whole - inside))


def _classes(positive: float, count: float) -> int:
    return 1 if positive in (0, count) else 2


def entropy(positive: Array, count: NDArray[np.int64]) -> Array:
    """The entropy in bits of labels of which `positive` of `count` are true."""
    share = np.stack([positive / count, 1 - positive / count])
    logs = np.log2(share, where=share > 0, out=np.zeros_like(share))
    found: Array = -(share * logs).sum(axis=0)
    return found
