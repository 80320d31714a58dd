"""What happened, as it happens: `metrics.jsonl` and TensorBoard, in step with the checkpoints."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from torch.utils.tensorboard import SummaryWriter

from keywright.errors import DataError


class Log:
    """Appends to both; what was logged after the checkpoint that is resumed is taken back."""

    def __init__(self, metrics: Path, board: Path, size: int, update: int):
        """`size` is how many bytes of the file are kept, `update` the last update that is."""
        self._path = metrics
        if metrics.exists() and metrics.stat().st_size > size:
            os.truncate(metrics, size)
        self._board = SummaryWriter(board, purge_step=update + 1)

    def add(self, kind: str, update: int, values: Mapping[str, Any]) -> int:
        """The size of the file after a line has been added to it."""
        line = msgspec.json.encode({"kind": kind, "update": update, **values}) + b"\n"
        try:
            with self._path.open("ab") as file:
                file.write(line)
                size = file.tell()
        except OSError as error:
            raise DataError(f"cannot be written: {error.strerror}", self._path) from None
        for name, value in values.items():
            if isinstance(value, float):
                self._board.add_scalar(f"{kind}/{name}", value, update)
        return size

    def close(self) -> None:
        self._board.close()
