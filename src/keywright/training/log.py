"""The log of a run: `metrics.jsonl` and TensorBoard, consistent with the checkpoints."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from torch.utils.tensorboard import SummaryWriter

from keywright.errors import DataError


class Log:
    """Appends to both. Lines after the checkpoint from which a run is resumed are removed."""

    def __init__(self, metrics: Path, board: Path, size: int, update: int):
        """Keep the first `size` bytes of the file, and TensorBoard's events up to `update`."""
        self._path = metrics
        if metrics.exists() and metrics.stat().st_size > size:
            os.truncate(metrics, size)
        self._folder = board
        with _reported(board):
            self._board = SummaryWriter(board, purge_step=update + 1)

    def add(self, kind: str, update: int, values: Mapping[str, Any]) -> int:
        """Add a line; returns the size of the file after it."""
        line = msgspec.json.encode({"kind": kind, "update": update, **values}) + b"\n"
        with _reported(self._path), self._path.open("ab") as file:
            file.write(line)
            size = file.tell()
        with _reported(self._folder):  # TensorBoard writes later, and reports errors of before
            for name, value in values.items():
                if isinstance(value, float):
                    self._board.add_scalar(f"{kind}/{name}", value, update)
        return size

    def close(self) -> None:
        with _reported(self._folder):
            self._board.close()


@contextmanager
def _reported(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataError(f"cannot be written: {error.strerror or error}", path) from None
