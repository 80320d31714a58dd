"""Boosted trees, run by ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keywright.errors import DataError

Matrix = NDArray[np.float32]


class Trees:
    """Rows of features -> the probability that each is right."""

    def __init__(self, path: Path):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # a document has too few candidates to share out
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._session: Any = onnxruntime.InferenceSession(
                path, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # its classes have no other base in common
            raise DataError(f"cannot be loaded by ONNX Runtime: {error}", path) from error

    def __call__(self, features: Matrix) -> NDArray[np.float64]:
        if not len(features):
            return np.empty(0)
        raw = self._session.run(None, {"features": features})[0][:, 0].astype(np.float64)
        return np.asarray(0.5 + 0.5 * np.tanh(0.5 * raw))  # unlike exp, tanh never overflows
