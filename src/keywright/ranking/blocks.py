"""Features of candidates: columns with names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keywright.errors import KeywrightError

Matrix = NDArray[np.float32]
Column = NDArray[np.floating[Any]]


class Block(NamedTuple):
    """Some features of some candidates."""

    names: tuple[str, ...]
    values: NDArray[np.floating[Any]]  # [C, F]

    @classmethod
    def of(cls, columns: Mapping[str, Column]) -> Block:
        return cls(tuple(columns), np.stack(list(columns.values()), axis=1))

    @classmethod
    def joined(cls, *blocks: Block) -> Block:
        """Different features of the same candidates."""
        values = [block.values for block in blocks]
        return cls(
            tuple(chain.from_iterable(block.names for block in blocks)),
            np.concatenate(values, axis=1, dtype=np.float32, casting="same_kind"),
        )

    @classmethod
    def stacked(cls, blocks: Sequence[Block]) -> Block:
        """The same features of different candidates; there is at least one block."""
        return cls(blocks[0].names, np.concatenate([block.values for block in blocks]))

    def rows(self, chosen: slice | NDArray[np.int64]) -> Block:
        """Some of the candidates."""
        return Block(self.names, self.values[chosen])

    def column(self, name: str) -> Column:
        """[C]"""
        return self.values[:, self.names.index(name)]

    def matrix(self, names: Sequence[str]) -> Matrix:
        """The named features [C, F]."""
        return self.values.astype(np.float32, copy=False)[:, _places(self.names, tuple(names))]


@lru_cache(64)  # there are only a few kinds of documents and of trees
def _places(names: tuple[str, ...], wanted: tuple[str, ...]) -> NDArray[np.int64]:
    """Which of the names are the wanted ones."""
    place = {name: number for number, name in enumerate(names)}
    for name in wanted:
        if name not in place:
            raise KeywrightError(
                f"the ranker reads the feature {name}, which this version of keywright does "
                "not compute; fit it again"
            )
    return np.array([place[name] for name in wanted], np.int64)


def parts(sizes: Sequence[int]) -> list[slice]:
    """Where each of several parts of these sizes is, one after another."""
    ends = np.cumsum(sizes).tolist()
    return [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
