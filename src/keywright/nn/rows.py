"""Memory and state of a generator as a dataclass of tensors with one entry per row."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self

from torch import Tensor


@dataclass(frozen=True)
class TensorRows:
    """Base of dataclasses whose fields are all tensors [R, ...]."""

    def select(self, index: Tensor) -> Self:
        """The rows at `index` [R'] (repeats allowed), in that order."""
        return type(self)(
            **{f.name: getattr(self, f.name).index_select(0, index) for f in fields(self)}
        )
