"""Numbers close to zero that take a CPU a hundred times as long as others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def without_denormals() -> Iterator[None]:
    """Treat them as zero: weights and moments of rare tokens decay to such numbers."""
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


@contextmanager
def tuned(threads: int) -> Iterator[None]:
    """Torch set up for training, on `threads` threads unless 0, and as it was afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads or before)
    try:
        with without_denormals():
            yield
    finally:
        torch.set_num_threads(before)
