"""Boosted trees, run by ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]


class Trees:
    """Rows of features -> the probability that each is right."""

    def __init__(self, path: Path):
        # Imported here: reading what a folder says about itself needs no ONNX Runtime.
        from keywright.runtime.session import open_session

        # One thread: a document has too few candidates to share out.
        self._session: Any = open_session(path, threads=1)

    def __call__(self, features: Matrix) -> NDArray[np.float64]:
        if not len(features):
            return np.empty(0)
        raw = self._session.run(None, {"features": features})[0][:, 0].astype(np.float64)
        return np.asarray(0.5 + 0.5 * np.tanh(0.5 * raw))  # unlike exp, tanh never overflows
