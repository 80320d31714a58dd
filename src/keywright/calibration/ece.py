"""How far confidence is from the probability that a phrase is correct.

Every measure is a function of sums over documents or of weights of documents, so that the bootstrap
over documents needs no second definition.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keywright.metric import Array

Flags = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.int64]

BINS = 10
ERRORS = ("ECE", "MCE", "ACE")
MEASURES = (*ERRORS, "Brier", "AUROC")
"""Expected, maximum and adaptive (equal-mass) calibration error, Brier score, and the area under
the ROC curve of confidence as a detector of correct phrases."""


@dataclass(frozen=True)
class Bin:
    """A bar of a reliability diagram (figure 3); an empty one has neither mean."""

    low: float
    high: float
    count: int
    confidence: float | None
    accuracy: float | None

    @property
    def gap(self) -> float:
        """|accuracy - mean confidence|, 0 for an empty bin."""
        if self.accuracy is None or self.confidence is None:
            return 0.0
        return abs(self.accuracy - self.confidence)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95% interval of the accuracy (Wilson 1927); None for an empty bin."""
        if self.accuracy is None:
            return None
        z = 1.959964
        weight = 1 / (1 + z**2 / self.count)
        middle = weight * (self.accuracy + z**2 / (2 * self.count))
        variance = self.accuracy * (1 - self.accuracy) / self.count + (z / self.count) ** 2 / 4
        half = weight * z * math.sqrt(variance)
        return max(0.0, middle - half), min(1.0, middle + half)


def equal_width(bins: int = BINS) -> Array:
    """The inner edges of `bins` bins of equal width."""
    return np.arange(1, bins) / bins


def equal_mass(confidence: Array, bins: int = BINS) -> Array:
    """The inner edges of bins that hold equally many phrases (equal confidences stay together)."""
    if not len(confidence):
        return equal_width(bins)
    return np.quantile(confidence, np.arange(1, bins) / bins)


def bin_of(confidence: Array, edges: Array) -> Indices:
    """A confidence on an edge belongs to the bin above it; exactly 1 to the last bin."""
    return np.searchsorted(edges, confidence, side="right")


def bin_sums(confidence: Array, correct: Flags, edges: Array) -> Array:
    """[bins, 3]: how many phrases, their summed confidence, how many are correct."""
    return group_sums(bin_of(confidence, edges), confidence, correct, len(edges) + 1)


def group_sums(group: Indices, confidence: Array, correct: Flags, groups: int) -> Array:
    """[groups, 3]: how many phrases, their summed confidence, how many are correct."""
    weights = (None, confidence, correct)
    columns = [np.bincount(group, weights=weight, minlength=groups) for weight in weights]
    return np.stack(columns, axis=-1).astype(np.float64)


def _gaps(sums: Array) -> Array:
    """|accuracy - mean confidence| of bins [..., bins, 3], 0 for an empty bin."""
    count = np.maximum(sums[..., 0], 1.0)
    return np.abs(sums[..., 2] - sums[..., 1]) / count


def expected_error(sums: Array) -> Array:
    """ECE (eq. 9) of bins [..., bins, 3]; the total is the number of phrases in the bins."""
    count = sums[..., 0]
    return np.asarray((count * _gaps(sums)).sum(axis=-1) / np.maximum(count.sum(axis=-1), 1.0))


def maximum_error(sums: Array) -> Array:
    """MCE: the largest gap of any bin."""
    return np.asarray(_gaps(sums).max(axis=-1))


def auroc(confidence: Array, correct: Flags) -> float:
    """The probability that a correct phrase has a higher confidence than a wrong one.

    Equal confidences count one half; NaN where all phrases or none are correct.
    """
    return weighted_auroc(levels(confidence), correct, np.ones(len(confidence)))


def levels(confidence: Array) -> Indices:
    """The rank of each confidence among the different ones."""
    return np.unique(confidence, return_inverse=True)[1]


def weighted_auroc(level: Indices, correct: Flags, weights: Array) -> float:
    right = np.bincount(level, weights=weights * correct)
    wrong = np.bincount(level, weights=weights * ~correct)
    pairs = right.sum() * wrong.sum()
    if pairs == 0:
        return float("nan")
    return float((right * (np.cumsum(wrong) - wrong / 2)).sum() / pairs)


def ece(confidence: Array, correct: Flags, bins: int = BINS) -> float:
    """Expected calibration error with bins of equal width."""
    return float(expected_error(bin_sums(confidence, correct, equal_width(bins))))


def mce(confidence: Array, correct: Flags, bins: int = BINS) -> float:
    """Maximum calibration error with bins of equal width."""
    return float(maximum_error(bin_sums(confidence, correct, equal_width(bins))))


def adaptive_ece(confidence: Array, correct: Flags, bins: int = BINS) -> float:
    """Expected calibration error with bins that hold equally many phrases."""
    return float(expected_error(bin_sums(confidence, correct, equal_mass(confidence, bins))))


def brier(confidence: Array, correct: Flags) -> float:
    """The mean squared difference between confidence and being right (1) or wrong (0)."""
    return float(np.mean((confidence - correct) ** 2)) if len(confidence) else float("nan")


def reliability(confidence: Array, correct: Flags, edges: Array) -> tuple[Bin, ...]:
    """The bars of a reliability diagram."""
    sums = bin_sums(confidence, correct, edges)
    lows, highs = (0.0, *edges.tolist()), (*edges.tolist(), 1.0)
    return tuple(
        Bin(
            low, high, int(count), sure / count if count else None, right / count if count else None
        )
        for low, high, (count, sure, right) in zip(lows, highs, sums.tolist(), strict=True)
    )
