"""Known keyphrases predicted from the words of a document: a linear model of low rank.

A document is the sum of its terms' vectors, weighted by idf and scaled to unit length; a known
keyphrase (label) has a vector and a bias; a softmax over the labels gives probabilities. This is
the classifier of fastText (Joulin et al. 2017) over single words and pairs. It finds absent
keyphrases that similar documents have, and measures how well present ones fit the document.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from keywright.ranking.keys import Keys, Table, keys
from keywright.text.reading import Stems

Vector = NDArray[np.float32]

LEADERS = 80  # labels that are sorted; most uses need no more
FEW = 64  # values whose ranks are counted one by one, which takes less time than sorting all labels


@dataclass(frozen=True)
class Topic:
    """A document in the topic model."""

    vector: Vector  # [E]
    log_probs: Vector  # [labels]

    @cached_property
    def norm(self) -> float:
        """The length of the vector, 1 if it is zero."""
        return float(np.linalg.norm(self.vector)) or 1.0

    def best(self, most: int) -> NDArray[np.int64]:
        """The most probable labels, best first."""
        if most <= LEADERS:
            return self._leaders[:most]
        return np.argsort(-self.log_probs, kind="stable")[:most]

    def ranks(self, log_probs: Vector) -> NDArray[np.int64]:
        """How many labels are more probable."""
        if len(log_probs) > FEW:
            return np.searchsorted(np.sort(-self.log_probs), -log_probs)
        first = self.log_probs[self._leaders]
        found = np.searchsorted(-first, -log_probs)
        for number in np.flatnonzero(found == len(first)):  # behind the leaders
            found[number] = np.count_nonzero(self.log_probs > log_probs[number])
        return found

    @cached_property
    def _leaders(self) -> NDArray[np.int64]:
        """The most probable labels, best first: at most LEADERS."""
        scores = -self.log_probs
        some = np.arange(len(scores))
        groups = 2 * LEADERS
        if len(scores) > groups:  # sorting all of them would take longer than everything else
            size = len(scores) // groups
            best_of_each = scores[: groups * size].reshape(size, groups).min(axis=0)
            # At least LEADERS labels, the best of as many groups, are within this bound.
            some = np.flatnonzero(scores <= np.partition(best_of_each, LEADERS - 1)[LEADERS - 1])
        return some[np.argsort(scores[some], kind="stable")[:LEADERS]]


class Topics:
    def __init__(
        self,
        terms: Keys,  # [T] rising
        idf: Vector,  # [T]
        vectors: NDArray[np.float16],  # [T, E]
        labels: list[str],  # in their most frequent spelling
        label_stems: list[Stems],
        label_vectors: Vector,  # [L, E]
        label_bias: Vector,  # [L]
    ):
        self.terms = Table(terms, np.empty((len(terms), 0)))
        self.idf, self.vectors = idf, vectors
        self.labels, self.label_stems = labels, label_stems
        self.label_vectors, self.label_bias = label_vectors, label_bias
        self._label_columns = np.ascontiguousarray(label_vectors.T)
        label_keys = keys(label_stems)
        order = np.argsort(label_keys)
        self._by_key = Table(label_keys[order], order[:, None])

    def of(self, documents: Sequence[Keys]) -> list[Topic]:
        """The topics of documents with these terms.

        Reading the vectors of all labels from memory takes longer than computing with them; for
        several documents in turn they stay in the cache.
        """
        if not documents:
            return []
        vectors = np.stack([self.vector(terms) for terms in documents])
        # Not by `@`: BLAS would use several threads, which on busy cores wait more than they work,
        # and its results depend on the number of documents.
        scores = np.einsum("el,de->dl", self._label_columns, vectors)
        scores += self.label_bias
        return [Topic(*pair) for pair in zip(vectors, map(_log_probs, scores), strict=True)]

    def vector(self, terms: Keys) -> Vector:
        places = self.terms.places(terms)
        places = places[places >= 0]
        weights = self.idf[places]
        norm = np.sqrt((weights * weights).sum()) or 1.0
        found: Vector = (weights / norm) @ self.vectors[places].astype(np.float32)
        return found

    def label_places(self, phrases: Keys) -> NDArray[np.int64]:
        """The label that each phrase is [N], -1 for none."""
        places = self._by_key.places(phrases)
        known = places >= 0
        places[known] = self._by_key.rows[places[known], 0]
        return places


def _log_probs(scores: Vector) -> Vector:
    if not len(scores):
        return scores
    highest = scores.max()
    return np.asarray(scores - highest - np.log(np.exp(scores - highest).sum()))
