"""Sessions of ONNX Runtime, opened with the same options and the same limit of memory everywhere.

A graph may come from anyone. It contains no code, but it can ask for any amount of memory: all
sessions of a process share one allocator that refuses more than `MAX_BYTES`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import onnxruntime
from numpy.typing import NDArray

from keywright.errors import DataError

MAX_BYTES = 4 << 30  # the shipped model needs less than a hundredth of it
_LONGEST_REASON = 300  # characters
_FATAL = 4  # what is worth a message reaches the user as an exception


class Session:
    """A graph; everything that goes wrong with it is an error that names its file."""

    def __init__(self, path: Path, threads: int) -> None:
        self.path = path
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.enable_mem_pattern = False  # it plans memory for shapes that recur, ours rarely do
        options.log_severity_level = _FATAL
        _bound_memory()
        options.add_session_config_entry("session.use_env_allocators", "1")
        try:
            self._session = onnxruntime.InferenceSession(
                path, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # its classes have no other common base
            raise DataError(f"cannot be loaded by ONNX Runtime: {_reason(error)}", path) from error
        self.inputs = tuple(feed.name for feed in self._session.get_inputs())
        self.outputs = tuple(output.name for output in self._session.get_outputs())

    def run(self, feeds: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
        """The outputs of the graph by name."""
        try:
            found = self._session.run(self.outputs, feeds)
        except Exception as error:
            raise DataError(
                f"cannot be run by ONNX Runtime: {_reason(error)}", self.path
            ) from error
        return dict(zip(self.outputs, found, strict=True))


@cache
def _bound_memory() -> None:
    """Register the allocator of all sessions, once for each process."""
    place = onnxruntime.OrtMemoryInfo(
        "Cpu",
        onnxruntime.OrtAllocatorType.ORT_ARENA_ALLOCATOR,
        0,
        onnxruntime.OrtMemType.DEFAULT,
    )
    defaults = dict.fromkeys(
        ("arena_extend_strategy", "initial_chunk_size_bytes", "max_dead_bytes_per_chunk"), -1
    )
    limits = onnxruntime.OrtArenaCfg({"max_mem": MAX_BYTES, **defaults})
    onnxruntime.create_and_register_allocator(place, limits)


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:_LONGEST_REASON]
