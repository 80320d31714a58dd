"""What a text by itself shows about its phrases, without any training data.

Centrality follows TextRank (Mihalcea and Tarau 2004); the variety of neighbours, the spread over
sentences and capital letters follow YAKE (Campos et al. 2020).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keywright.ranking.candidates import AT_END, Occurrences, RankerView
from keywright.text.reading import BORDER, Reading

Column = NDArray[np.floating[Any]]

REACH = 2  # how far apart words may be that are neighbours in the graph
DAMPING = 0.85
ROUNDS = 12
SENTENCE_ENDS = frozenset({".", "(", ")"})


class Structure:
    """The structure of one document."""

    def __init__(self, view: RankerView):
        self._ids = view.ids
        self.number = view.number  # stem -> row
        self._content = view.kinds & AT_END > 0
        ends = np.array([word == BORDER for word in view.words], np.bool_)
        self._sentence = ends.cumsum()
        # Words that begin with a capital inside a sentence, and words all in capitals.
        self._capital, self._capitals = _capitals(view.reading, len(view.words))
        self.cased = float(self._capital.any() or self._capitals.any())

    @cached_property
    def words(self) -> NDArray[np.float32]:
        """[W, 3] for each stem: its centrality, the variety of the words before and after it."""
        size = len(self.number)
        count = np.bincount(self._ids, minlength=size).clip(min=1)
        pairs = np.unique(self._ids[:-1] * size + self._ids[1:])
        before = np.bincount(pairs % max(1, size), minlength=size) / count
        after = np.bincount(pairs // max(1, size), minlength=size) / count
        return np.stack([self._centrality(size), before, after], axis=1).astype(np.float32)

    def _centrality(self, size: int) -> Column:
        """PageRank over the graph of neighbouring words, with mean 1."""
        joined = np.zeros(size * size, np.float32)
        for far in range(1, REACH + 1):
            both = self._content[:-far] & self._content[far:]
            left, right = self._ids[:-far][both], self._ids[far:][both]
            joined += np.bincount(left * size + right, minlength=size * size)
        graph = joined.reshape(size, size)
        graph = graph + graph.T
        np.fill_diagonal(graph, 0)
        graph /= graph.sum(axis=0).clip(min=1)
        rank = np.ones(size, np.float32)
        for _ in range(ROUNDS):
            rank = (1 - DAMPING) + DAMPING * np.einsum("ij,j->i", graph, rank)
        return rank

    def capital(self, at: Occurrences) -> Column:
        """The share of occurrences that begin with a capital letter."""
        return at.mean(self._capital[at.starts])

    def columns(self, at: Occurrences) -> dict[str, Column]:
        bordered = np.concatenate([[True], ~self._content, [True]])
        sentences = self._sentence[at.starts]
        new = np.ones(len(sentences), np.bool_)
        new[1:] = sentences[1:] != sentences[:-1]
        new[at.begin] = True
        left, right = bordered[at.starts], bordered[at.ends + 1]
        return {
            "edge.left": at.mean(left),
            "edge.right": at.mean(right),
            "edge.both": at.mean(left & right),
            "sentences": at.sum(new) / (1 + self._sentence.max(initial=0)),
            "capital.first": self.capital(at),
            "capital.last": at.mean(self._capital[at.ends - 1]),
            "capitals": at.mean(self._capitals[at.starts]),
        }


def _capitals(reading: Reading, size: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """[size] for each of the first words, with the border: a capital first, capitals throughout."""
    first, whole = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    text, starts, ends = reading.text, reading.spans.starts, reading.spans.ends
    inside = False  # whether the word before belongs to the same sentence
    for number in range(min(len(starts), size)):
        at = number + (number >= reading.title_words)
        if number == reading.title_words:
            inside = False
        word = text[starts[number] : ends[number]]
        if at < size and word[0].isupper():
            whole[at] = len(word) > 1 and word.isupper()
            first[at] = inside or whole[at]
        inside = word not in SENTENCE_ENDS
    return first, whole
