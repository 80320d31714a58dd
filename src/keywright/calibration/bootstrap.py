"""Intervals by resampling documents, because the phrases of one document are not independent."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from keywright.metric import Array

SHARE = 0.95
# Resamples drawn at once: enough to keep numpy busy, few enough for a corpus of 20,000 documents.
_AT_ONCE = 50

Interval = tuple[float, float]


def weights(documents: int, resamples: int, seed: int) -> Iterator[Array]:
    """How often each document is drawn: [resamples, documents], some resamples at a time."""
    random = np.random.default_rng(seed)
    for start in range(0, resamples, _AT_ONCE):
        count = min(_AT_ONCE, resamples - start)
        drawn = random.integers(0, documents, size=(count, documents))
        drawn += np.arange(count)[:, None] * documents
        counts = np.bincount(drawn.ravel(), minlength=count * documents)
        yield counts.reshape(count, documents).astype(np.float64)


def percentile(resampled: Array, share: float = SHARE) -> Interval | None:
    """The middle `share` of the resampled values; None if there are no values."""
    values = resampled[~np.isnan(resampled)]
    if not len(values):
        return None
    low, high = np.quantile(values, [(1 - share) / 2, (1 + share) / 2])
    return float(low), float(high)


def mirrored(estimate: float, resampled: Array, share: float = SHARE) -> Interval | None:
    """The basic bootstrap interval, which mirrors the resamples' distances from the estimate.

    A calibration error is a sum of absolute values, to which noise can only add. The estimate has
    that noise once and its resamples twice, so their own percentiles would be above the true value.
    """
    limits = percentile(resampled, share)
    if limits is None:
        return None
    low, high = limits
    return _in_unit(2 * estimate - high), _in_unit(2 * estimate - low)


def _in_unit(error: float) -> float:
    """No calibration error is below 0 or above 1."""
    return min(max(error, 0.0), 1.0)
