"""Rows of different lengths as one matrix, without torch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]


def padded(rows: Sequence[Sequence[int]], pad: int) -> tuple[Ids, Mask]:
    """Rows of ids as a matrix [len(rows), longest] and the mask of its real positions."""
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    mask = np.arange(lengths.max(initial=0)) < lengths[:, None]
    matrix = np.full(mask.shape, pad, dtype=np.int64)
    if mask.any():
        matrix[mask] = np.concatenate(rows)
    return matrix, mask
