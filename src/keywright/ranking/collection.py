"""What a user's own documents teach a ranker: their keyphrases, how frequent they are, and which
documents have them.

A known keyphrase (label) is compared with a new document in three ways, because each is reliable
for another number of examples: by the labels of similar documents, by the mean of all documents
that have the label (Rocchio 1971), and by the same mean in the topic model of the ranker.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keywright.errors import DataError
from keywright.ranking.arrays import read_arrays
from keywright.ranking.keys import Keys, Table, keys
from keywright.text.reading import Stems

Vector = NDArray[np.float32]
Indices = NDArray[np.int64]

# Columns of the counts of words: documents with a word, and with it in a keyphrase.
WORD_DOCUMENTS, WORD_KEYPHRASES = range(2)
SIZES = {
    "counts": ("labels",),
    "phrases": ("phrases",),
    "phrase_counts": ("phrases", "phrase columns"),
    "words": ("words",),
    "word_counts": ("words", "word columns"),
    "terms": ("terms",),
    "idf": ("terms",),
    "document_starts": ("terms and one",),
    "document_columns": ("weights of documents",),
    "document_weights": ("weights of documents",),
    "labelled": ("labelled", "pair"),
    "centre_starts": ("terms and one",),
    "centre_columns": ("weights of centres",),
    "centre_weights": ("weights of centres",),
    "topics": ("labels", "numbers per vector"),
}
FIXED = {"phrase columns": 1, "word columns": 2, "pair": 2}


@dataclass(frozen=True)
class Postings:
    """A sparse matrix [T, columns] by rows: row t is [starts[t], starts[t + 1]) of the others."""

    starts: Indices  # [T + 1] rising
    columns: NDArray[np.int32]  # [N]
    weights: Vector  # [N]

    def sums(self, rows: Indices, weights: Vector, size: int) -> Vector:
        """The weighted sum [size] of some rows."""
        counts = self.starts[rows + 1] - self.starts[rows]
        skipped = np.repeat(self.starts[rows] - (counts.cumsum() - counts), counts)
        places = np.arange(counts.sum()) + skipped
        values = self.weights[places] * np.repeat(weights, counts)
        return np.bincount(self.columns[places], values, minlength=size).astype(np.float32)


@dataclass(frozen=True)
class Nearness:
    """How near a document is to every label [L]; ranks count the labels that are nearer."""

    neighbours: Vector
    centre: Vector
    topic: Vector

    def columns(self) -> dict[str, Vector]:
        scores = {
            "neighbours": np.log(self.neighbours + 1e-4) - np.log(np.float32(1e-4)),
            "centre": self.centre,
            "topic": self.topic,
        }
        ranks = {f"{name}.rank": _ranks(values) for name, values in scores.items()}
        return {**scores, **ranks}

    def best(self, most: int) -> Indices:
        """The labels among the `most` nearest by any of the three."""
        scores = (self.neighbours, self.centre, self.topic)
        return np.unique(np.concatenate([np.argsort(-values)[:most] for values in scores]))


def _ranks(values: Vector) -> Vector:
    ranks = np.empty(len(values), np.float32)
    ranks[np.argsort(-values, kind="stable")] = np.arange(len(values))
    return np.log1p(ranks)


@dataclass(frozen=True)
class Collection:
    """A user's documents, as far as a ranker needs them."""

    labels: list[str]  # in their most frequent spelling
    label_stems: list[Stems]
    counts: Vector  # [L] documents with the label
    phrases: Table  # [N, 1] documents whose text has the phrase
    words: Table  # [N, 2]
    terms: Keys  # [T] rising
    idf: Vector  # [T]
    documents: Postings  # terms by documents
    labelled: Indices  # [P, 2] pairs of a document and one of its labels
    centres: Postings  # terms by labels
    topics: Vector  # [L, E] directions in the ranker's topic model

    @cached_property
    def _by_key(self) -> Table:
        found = keys(self.label_stems)
        order = np.argsort(found)
        return Table(found[order], order[:, None])

    @cached_property
    def _by_term(self) -> Table:
        return Table(self.terms, np.empty((len(self.terms), 0)))

    def label_places(self, phrases: Keys) -> Indices:
        """The label that each phrase is [N], -1 for none."""
        places = self._by_key.places(phrases)
        known = places >= 0
        places[known] = self._by_key.rows[places[known], 0]
        return places

    def near(self, terms: Keys, topic: Vector) -> Nearness:
        """The nearness of a document with some terms [any] and a topic vector [E]."""
        places = self._by_term.places(terms)
        places = places[places >= 0]
        weights = unit(self.idf[places])
        count = int(self.labelled[:, 0].max(initial=-1)) + 1
        similar = self.documents.sums(places, weights, count)[:count]
        owners, labels = self.labelled.T
        votes = np.bincount(labels, similar[owners] ** 2, minlength=len(self.labels))
        centre = self.centres.sums(places, weights, len(self.labels))
        return Nearness(votes.astype(np.float32), centre, self.topics @ unit(topic))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything but the labels' names, as `read_collection` reads it."""
        return {
            "counts": self.counts,
            "phrases": self.phrases.keys,
            "phrase_counts": self.phrases.rows,
            "words": self.words.keys,
            "word_counts": self.words.rows,
            "terms": self.terms,
            "idf": self.idf,
            "document_starts": self.documents.starts,
            "document_columns": self.documents.columns,
            "document_weights": self.documents.weights.astype(np.float16),
            "labelled": self.labelled.astype(np.int32),
            "centre_starts": self.centres.starts,
            "centre_columns": self.centres.columns,
            "centre_weights": self.centres.weights.astype(np.float16),
            "topics": self.topics.astype(np.float16),
        }


def read_collection(
    path: Path, labels: list[str], label_stems: list[Stems], vector: int
) -> Collection:
    """The collection of a folder; `vector` is the size of the ranker's topic vectors."""
    known = {**FIXED, "labels": len(labels), "numbers per vector": vector}
    arrays = read_arrays(path, SIZES, known)
    pairs = arrays["labelled"].astype(np.int64)
    count = int(pairs[:, 0].max(initial=-1)) + 1
    if pairs.min(initial=0) < 0 or pairs[:, 1].max(initial=-1) >= len(labels):
        raise DataError("is damaged: a document has an unknown label", path)
    terms = len(arrays["terms"])
    return Collection(
        labels,
        label_stems,
        arrays["counts"].astype(np.float32),
        Table(arrays["phrases"], arrays["phrase_counts"]),
        Table(arrays["words"], arrays["word_counts"]),
        arrays["terms"],
        arrays["idf"].astype(np.float32),
        _postings(arrays, "document", terms, count, path),
        pairs,
        _postings(arrays, "centre", terms, len(labels), path),
        arrays["topics"].astype(np.float32),
    )


def _postings(
    arrays: dict[str, NDArray[Any]], name: str, terms: int, columns: int, path: Path
) -> Postings:
    starts = arrays[f"{name}_starts"].astype(np.int64)
    found = arrays[f"{name}_columns"].astype(np.int32)
    ends = len(starts) == terms + 1 and starts[0] == 0 and starts[-1] == len(found)
    if not ends or (np.diff(starts) < 0).any():
        raise DataError(f"is damaged: the {name} weights do not fit the terms", path)
    if found.min(initial=0) < 0 or found.max(initial=-1) >= columns:
        raise DataError(f"is damaged: there is no such {name}", path)
    return Postings(starts, found, arrays[f"{name}_weights"].astype(np.float32))


def unit(vector: Vector) -> Vector:
    """A vector scaled to length 1; zeros stay zeros."""
    return np.asarray(vector / (np.linalg.norm(vector) or 1.0), np.float32)
