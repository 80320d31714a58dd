"""Phrases as numbers, so that tables of hundreds of thousands of phrases load quickly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
Counts = NDArray[np.uint32]

REMEMBERED = 50_000  # digests of phrases; documents share their words


def keys(phrases: Iterable[Sequence[str]]) -> Keys:
    """64-bit hashes [N]: among a million phrases, two collide with a chance of 1 in 37 million."""
    return word_keys(map(" ".join, phrases))


def word_keys(words: Iterable[str]) -> Keys:
    """The keys of phrases that consist of one word each."""
    return np.frombuffer(b"".join(map(_digest, words)), dtype="<u8").astype(np.uint64)


@lru_cache(REMEMBERED)
def _digest(phrase: str) -> bytes:
    return blake2b(phrase.encode(), digest_size=8).digest()


@dataclass(frozen=True)
class Table:
    """A row of numbers for every key."""

    keys: Keys  # [N] rising
    rows: NDArray[Any]  # [N, C]

    def __len__(self) -> int:
        return len(self.keys)

    def places(self, wanted: Keys) -> NDArray[np.int64]:
        """The rows of some keys [K], -1 for unknown ones."""
        if not len(self.keys):
            return np.full(len(wanted), -1)
        at = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[at] == wanted, at, -1)

    def look_up(self, wanted: Keys) -> NDArray[np.float32]:
        """[len(wanted), C], zeros for unknown keys."""
        places = self.places(wanted)
        known = places >= 0
        found = np.zeros((len(wanted), self.rows.shape[1]), dtype=np.float32)
        found[known] = self.rows[places[known]]
        return found

    def where(self, chosen: NDArray[np.bool_]) -> Self:
        return type(self)(self.keys[chosen], self.rows[chosen])


class Tally:
    """Counts occurrences of keys by column, in memory that grows with the distinct keys only."""

    ROOM = 4_000_000  # keys collected before they are counted

    def __init__(self, columns: int) -> None:
        self._columns = columns
        self._waiting: list[list[Keys]] = [[] for _ in range(columns)]
        self._size = 0
        self._counted = Table(np.empty(0, np.uint64), np.empty((0, columns), np.uint32))

    def add(self, column: int, seen: Keys) -> None:
        self._waiting[column].append(seen)
        self._size += len(seen)
        if self._size >= self.ROOM:
            self._count()

    def table(self) -> Table:
        self._count()
        return self._counted

    def _count(self) -> None:
        parts = [(self._counted.keys, self._counted.rows)]
        for column, waiting in enumerate(self._waiting):
            if waiting:
                seen, counts = np.unique(np.concatenate(waiting), return_counts=True)
                rows = np.zeros((len(seen), self._columns), np.uint32)
                rows[:, column] = counts
                parts.append((seen, rows))
                waiting.clear()
        every = np.concatenate([seen for seen, _ in parts])
        distinct, place = np.unique(every, return_inverse=True)
        total = np.zeros((len(distinct), self._columns), np.uint32)
        np.add.at(total, place, np.concatenate([rows for _, rows in parts]))
        self._counted, self._size = Table(distinct, total), 0
