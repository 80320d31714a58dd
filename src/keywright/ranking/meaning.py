"""How close phrases are in meaning to a document, by static vectors of words.

The vector of a word is what a sentence encoder makes of the word alone, in fewer dimensions, and
shorter for frequent words (Tulkens and van Dongen 2024, Model2Vec). The vector of a phrase, a
sentence or a document is the sum of those of its words. `ranking.fitting.meaning` distils them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keywright.ranking.candidates import RankerView
from keywright.ranking.keys import Keys, Table, word_keys
from keywright.text.reading import Stems

Vectors = NDArray[np.float32]


class Meaning:
    """Vectors of known stems; those of unknown stems are zero."""

    def __init__(self, stems: Keys, vectors: NDArray[np.int8], scale: NDArray[Any]):
        self._table = Table(stems, vectors)  # [N] rising, [N, D]
        self._scale = scale.astype(np.float32)  # [N]

    def words(self, stems: Keys) -> Vectors:
        """[len(stems), D]"""
        places = self._table.places(stems)
        known = places >= 0
        found = np.zeros((len(stems), self._table.rows.shape[1]), np.float32)
        found[known] = self._table.rows[places[known]] * self._scale[places[known], None]
        return found

    def text(self, stems: Iterable[str]) -> Vectors:
        """The direction [D] of a text that consists of these stems."""
        return unit(self.words(word_keys(stems)).sum(axis=0))


class Meanings:
    """The words of one document, and how close phrases are to it."""

    def __init__(self, meaning: Meaning, view: RankerView):
        self._meaning = meaning
        self._words = meaning.words(view.keys)
        often = np.log1p(np.array(list(view.tally.values()), np.float32))
        self._document = unit((often[:, None] * self._words).sum(axis=0))
        rows = [view.number[stem] for stem in view.titled]
        self._title = unit(self._words[rows].sum(axis=0)) if rows else self._document

    def columns(self, phrases: Sequence[Stems]) -> dict[str, NDArray[Any]]:
        words, rows, owner = self._vectors(phrases)
        sums = np.zeros((len(phrases), words.shape[1]), np.float32)
        np.add.at(sums, owner, words[rows])
        sums = unit(sums)
        return {"near.document": sums @ self._document, "near.title": sums @ self._title}

    def nearest(self, phrases: Sequence[Stems]) -> dict[str, NDArray[Any]]:
        """A phrase is out of place if nothing in the document is close to one of its words."""
        words, rows, owner = self._vectors(phrases)
        nearest = (unit(words) @ unit(self._words).T).max(axis=1, initial=0.0)[rows]
        begin = np.searchsorted(owner, np.arange(len(phrases)))
        return {"near.word": np.minimum.reduceat(nearest, begin) if len(owner) else nearest}

    def _vectors(
        self, phrases: Sequence[Stems]
    ) -> tuple[Vectors, NDArray[np.int64], NDArray[np.int64]]:
        """Vectors of the distinct words; for every word of every phrase its row and its phrase."""
        number: dict[str, int] = {}
        rows = np.array(
            [number.setdefault(stem, len(number)) for phrase in phrases for stem in phrase],
            np.int64,
        )
        owner = np.repeat(np.arange(len(phrases)), [len(phrase) for phrase in phrases])
        return self._meaning.words(word_keys(number)), rows, owner


def unit(vectors: Vectors) -> Vectors:
    """Vectors of length 1; zero vectors stay as they are."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(length, 1e-6), np.float32)
