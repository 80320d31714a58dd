"""Boosted trees, run by ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from keywright.errors import DataError

Matrix = NDArray[np.float32]


class Trees:
    """Features [C, F] -> the log-odds that each candidate is a keyphrase [C]."""

    def __init__(self, path: Path):
        # Imported here, because reading the manifest of a folder needs no ONNX Runtime.
        from keywright.runtime.session import Session

        # One thread: a document has too few candidates to use more.
        self._session = Session(path, threads=1)

    def __call__(self, features: Matrix) -> NDArray[np.float64]:
        if not len(features):
            return np.empty(0)
        found = next(iter(self._session.run({"features": features}).values()))
        if found.shape != (len(features), 1):
            raise DataError(
                f"returns {found.shape} for {len(features)} candidates", self._session.path
            )
        return np.asarray(found[:, 0], np.float64)


def probabilities(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * log_odds))  # unlike exp, tanh never overflows
