"""Numbers near zero that cost a CPU a hundred times what others do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def without_denormals() -> Iterator[None]:
    """Count them as zero: what rarely occurs has weights and moments that decay to them."""
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
