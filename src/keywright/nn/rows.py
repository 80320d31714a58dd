"""Memory and state of a generator: dataclasses of tensors with `select` for rows."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Self

import torch
from torch import Tensor


@dataclass(frozen=True)
class TensorRows:
    """Base of dataclasses whose fields are all tensors [R, ...]: one entry per row."""

    def select(self, index: Tensor) -> Self:
        """The rows at `index` [R'], in that order; an index may occur several times."""
        return type(self)(
            **{f.name: getattr(self, f.name).index_select(0, index) for f in fields(self)}
        )


@dataclass(frozen=True)
class Sharing:
    """Which of B documents each of R rows reads.

    The rows of a document query its keys and values together, as one longer query, so that these
    are neither copied nor read from memory once for every row.
    """

    owner: Tensor  # [R] long, the document of each row
    place: Tensor  # [R] long, 0, 1, ... among the rows of that document
    documents: int  # B
    most: int  # the largest number of rows of a document
    even: bool  # whether all documents have the same number of rows, and all rows are in order

    @classmethod
    def of(cls, owner: Tensor, documents: int) -> Self:
        counts = torch.bincount(owner, minlength=documents)
        order = owner.argsort(stable=True)
        first = counts.cumsum(0) - counts
        numbers = torch.arange(len(owner), device=owner.device)
        place = torch.empty_like(owner)
        place[order] = numbers - first[owner[order]]
        most = int(counts.max())
        even = len(owner) == documents * most and torch.equal(order, numbers)
        return cls(owner, place, documents, most, even)

    def join(self, x: Tensor) -> Tensor:
        """[R, T, D] to [B, most * T, D], with zeros where a document has fewer rows."""
        if self.even:
            return x.reshape(self.documents, -1, x.shape[-1])
        joined = x.new_zeros(self.documents, self.most, *x.shape[1:])
        joined[self.owner, self.place] = x
        return joined.flatten(1, 2)

    def part(self, x: Tensor, length: int) -> Tensor:
        """The reverse of `join`: [B, most * T, E] to [R, T, E]; T is `length`."""
        if self.even:
            return x.reshape(len(self.owner), length, -1)
        return x.reshape(self.documents, self.most, length, -1)[self.owner, self.place]


@dataclass(frozen=True)
class SharedRows:
    """Base of dataclasses whose other fields are all tensors [B, ...]: one entry per document."""

    sharing: Sharing

    def select(self, index: Tensor) -> Self:
        """The rows at `index` [R'], in that order; an index may occur several times."""
        owner = self.sharing.owner[index]
        used, position = torch.unique(owner, return_inverse=True)
        if 2 * len(used) > self.sharing.documents:  # most are still read: avoid copying them
            return replace(self, sharing=Sharing.of(owner, self.sharing.documents))
        tensors = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "sharing"}
        return type(self)(
            sharing=Sharing.of(position, len(used)),
            **{name: tensor[used] for name, tensor in tensors.items()},
        )
