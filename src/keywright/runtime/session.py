"""ONNX Runtime's sessions, opened alike by all that run graphs."""

from __future__ import annotations

from pathlib import Path

import onnxruntime

from keywright.errors import DataError


def open_session(path: Path, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # plans memory for shapes that recur; ours hardly do
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its classes have no other base in common
        raise DataError(f"cannot be loaded by ONNX Runtime: {error}", path) from error
