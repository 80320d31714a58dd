"""Utility: is a document found among others when its predicted phrases are the query?

BM25 is Okapi's with k1 = 1.5 and b = 0.75, over the stems of words that are not stop words; a term
that occurs in more than half of the documents has a quarter of the mean weight, as in rank_bm25.
Dense retrieval compares the encoded phrases with the encoded documents. Of documents with equal
scores the one searched for comes last, so that an empty query finds nothing.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from keywright.data.documents import read_documents
from keywright.errors import DataError, KeywrightError
from keywright.matches import Part, ScoringRules, WordedMatches
from keywright.metric import Array, Chunk, Column, Cutoff, MeanMeasure, Metric
from keywright.metrics import _encoder
from keywright.text.candidates import STOPWORDS, is_word
from keywright.text.stem import stems
from keywright.text.tokenise import document_words
from keywright.types import Document

_K1, _B, _FLOOR = 1.5, 0.75, 0.25


class Index:
    """Documents to search."""

    def __init__(self, documents: Iterable[Document], name: str = "index") -> None:
        self._name = name
        self.documents = tuple(documents)
        if not self.documents:
            raise DataError("contains no documents to search", name)
        self._places = {_key(document): place for place, document in enumerate(self.documents)}

    def place(self, document: Document) -> int:
        """Where a document is; an error if it is not among those that are searched."""
        try:
            return self._places[_key(document)]
        except KeyError:
            which = f"document {document.id!r}" if document.id else f"{document.title[:50]!r}"
            raise DataError(
                f"does not contain {which}, which should be found; name a file with all documents",
                self._name,
            ) from None

    @cached_property
    def _postings(self) -> dict[str, tuple[Array, Array]]:
        """Each term's documents, and how much an occurrence of it in a query adds to them."""
        counts = [Counter(_terms(document)) for document in self.documents]
        lengths = np.array([count.total() for count in counts], dtype=float)
        norm = _K1 * (1 - _B + _B * lengths / max(float(lengths.mean()), 1e-9))
        where: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for place, count in enumerate(counts):
            for term, times in count.items():
                where[term].append((place, times))
        weights = _weights({term: len(found) for term, found in where.items()}, len(counts))
        postings = {}
        for term, found in where.items():
            places, times = np.array(found).T
            gain = times * (_K1 + 1) / (times + norm[places])
            postings[term] = places, weights[term] * gain
        return postings

    def bm25(self, query: Iterable[str]) -> Array:
        """The score of every document, [documents]."""
        scores = np.zeros(len(self.documents))
        for term in query:
            if term in self._postings:
                places, gain = self._postings[term]
                scores[places] += gain
        return scores

    @lru_cache(2)  # noqa: B019, as many as there are encoders
    def vectors(self, encoder: str) -> Array:
        texts = [document.text for document in self.documents]
        found = _encoder.load(encoder).vectors(texts)
        return np.stack([found[text] for text in texts])


def _key(document: Document) -> tuple[str, str]:
    return document.title, document.body


def _terms(document: Document) -> list[str]:
    words = [word for words in document_words(document) for word in words]
    return stems(word for word in words if is_word(word) and word not in STOPWORDS)


def _weights(frequencies: dict[str, int], documents: int) -> dict[str, float]:
    """Inverse document frequencies. Where they would be negative they are small instead."""
    found = {
        term: math.log(documents - count + 0.5) - math.log(count + 0.5)
        for term, count in frequencies.items()
    }
    floor = _FLOOR * sum(found.values()) / max(len(found), 1)
    return {term: floor if value < 0 else value for term, value in found.items()}


@lru_cache(2)
def load(path: str, changed: int) -> Index:
    return Index(read_documents(path), path)


def _index(path: str) -> Index:
    file = Path(path)
    return load(path, file.stat().st_mtime_ns if file.exists() else 0)


@dataclass(frozen=True)
class Rank(Column):
    """The rank from 1 of the document that the predictions belong to."""

    part: Part
    index: str

    def compute(self, chunk: Chunk) -> Array:
        index, documents = _index(self.index), _encoder.worded(chunk)
        ranks = [
            (scores >= scores[index.place(found.document)]).sum()
            for found, scores in zip(documents, self.scores(index, documents), strict=True)
        ]
        return np.array(ranks, dtype=float)

    @abstractmethod
    def scores(self, index: Index, documents: Sequence[WordedMatches]) -> Iterable[Array]:
        """For the phrases of every document the scores of all documents of the index."""


@dataclass(frozen=True)
class BM25Rank(Rank):
    def scores(self, index: Index, documents: Sequence[WordedMatches]) -> Iterable[Array]:
        for found in documents:
            phrases = found.part(self.part).predictions
            yield index.bm25(stem for phrase in phrases for stem in phrase.split())


@dataclass(frozen=True)
class DenseRank(Rank):
    encoder: str

    def scores(self, index: Index, documents: Sequence[WordedMatches]) -> Iterable[Array]:
        texts = [
            "; ".join(found.predicted[stems] for stems in found.part(self.part).predictions)
            for found in documents
        ]
        vectors = _encoder.load(self.encoder).vectors(filter(None, texts))
        for text in texts:
            found = index.vectors(self.encoder)
            yield found @ vectors[text] if text else np.zeros(len(found))


@dataclass(frozen=True)
class Found(Column):
    """1 if the document is among the first k, or the reciprocal of its rank."""

    rank: Rank
    most: int
    reciprocal: bool

    def compute(self, chunk: Chunk) -> Array:
        ranks = chunk[self.rank]
        value = 1.0 / ranks if self.reciprocal else np.ones(len(ranks))
        return np.where(ranks <= self.most, value, 0.0)


class Retrieval(MeanMeasure):
    def column(self, metric: Metric, rules: ScoringRules) -> Column:
        _encoder.require_words(metric, rules)
        if not rules.index:
            raise KeywrightError(
                f"metric {metric} needs documents to search; name a file that contains those that "
                "are evaluated: --protocol kpeval:index=FILE"
            )
        cutoff = metric.cutoff or Cutoff(5)
        if not isinstance(cutoff.at, int):
            raise KeywrightError(f"metric {metric}: the cut-off must be a number")
        rank: Rank = BM25Rank(metric.part, rules.index)
        if metric.measure.startswith("Dense"):
            rank = DenseRank(metric.part, rules.index, rules.encoder)
        return Found(rank, cutoff.at, metric.measure.endswith("RR"))


MEASURES = tuple(
    Retrieval(
        f"{kind}{name}",
        f"{what} when the predicted phrases are the query ({how}); needs `index`",
        needs_cutoff=True,
        cutoffs=cutoffs,
        order=84,
        protocols=("kpeval",),
    )
    for kind, how in (("BM25", "BM25"), ("Dense", "a sentence encoder"))
    for name, what, cutoffs in (
        ("Recall", "share of documents found among the first k", ("1", "3", "5")),
        ("RR", "mean reciprocal rank of the document, 0 beyond k,", ("5",)),
    )
)
