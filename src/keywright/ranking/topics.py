"""Known keyphrases predicted from the words of a document: a linear model of low rank.

A document is the sum of its terms' vectors, weighted by idf and scaled to unit length; a known
keyphrase (label) has a vector and a bias; a softmax over the labels gives probabilities. This is
the classifier of fastText (Joulin et al. 2017) over single words and pairs. It finds absent
keyphrases that similar documents have, and measures how well present ones fit the document.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from keywright.ranking.keys import Keys, Table, keys
from keywright.text.reading import Stems

Vector = NDArray[np.float32]


@dataclass(frozen=True)
class Topic:
    """A document in the topic model."""

    vector: Vector  # [E]
    log_probs: Vector  # [labels]

    def best(self, most: int) -> NDArray[np.int64]:
        """The most probable labels, best first."""
        scores = -self.log_probs
        some = np.arange(len(scores))
        if most < len(scores):  # sorting all of them would take longer than everything else
            some = np.argpartition(scores, most)[:most]
        return some[np.argsort(scores[some])]

    def ranks(self, log_probs: Vector) -> NDArray[np.int64]:
        """How many labels are more probable."""
        return np.searchsorted(self._rising, -log_probs)

    @cached_property
    def _rising(self) -> Vector:
        return np.sort(-self.log_probs)


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

    def of(self, terms: Keys) -> Topic:
        vector = self.vector(terms)
        # Not by `@`: BLAS would use several threads, which on busy cores wait more than they work.
        scores = np.einsum("el,e->l", self._label_columns, vector) + self.label_bias
        if not len(scores):
            return Topic(vector, scores)
        highest = scores.max()
        return Topic(vector, scores - highest - np.log(np.exp(scores - highest).sum()))

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
