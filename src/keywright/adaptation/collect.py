"""Builds the `Collection` of some documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keywright.ranking.collection import Collection, Indices, Postings, Vector, unit
from keywright.ranking.features import Judged
from keywright.ranking.keys import Keys, Table, Tally, keys
from keywright.ranking.phrasebook import gold_stems
from keywright.text.reading import Stems
from keywright.text.stem import stems
from keywright.text.tokenise import words
from keywright.types import Document

COMMONEST = 0.2  # terms that occur in a larger share of documents are left out
FEWEST = 2  # documents with a term, or with a phrase that is not a label


@dataclass(frozen=True)
class Seen:
    """What a collection keeps of a document."""

    gold: tuple[Stems, ...]
    spellings: tuple[tuple[Stems, str], ...]
    terms: Keys
    phrases: Keys
    words: Keys
    topic: Vector  # [E] unit length

    @classmethod
    def of(cls, document: Document, judged: Judged) -> Seen:
        written = [words(text, document.tokenised) for text in document.keyphrases or ()]
        return cls(
            tuple(sorted(gold_stems(document))),
            tuple((tuple(stems(text)), " ".join(text)) for text in written if text),
            judged.view.terms,
            keys(judged.view.candidates),
            judged.view.keys,
            unit(judged.topic.vector),
        )


def collect(seen: Sequence[Seen]) -> Collection:
    """A collection of documents, at least one of which has a keyphrase."""
    spelling = _spellings(seen)
    label_stems = list(spelling)
    place = {label: number for number, label in enumerate(label_stems)}
    pairs = np.array(
        [(number, place[label]) for number, document in enumerate(seen) for label in document.gold],
        np.int64,
    )
    terms, idf = _terms(seen)
    rows = _document_rows(seen, terms, idf)
    return Collection(
        labels=list(spelling.values()),
        label_stems=label_stems,
        counts=np.bincount(pairs[:, 1], minlength=len(label_stems)).astype(np.float32),
        phrases=_phrases(seen, keys(label_stems)),
        words=_words(seen),
        terms=terms,
        idf=idf,
        documents=_postings(*rows, len(terms)),
        labelled=pairs,
        centres=_centres(rows, pairs, len(terms)),
        topics=_topics(seen, pairs, len(label_stems)),
    )


def _spellings(seen: Iterable[Seen]) -> dict[Stems, str]:
    """The most frequent spelling of each keyphrase, the first in the alphabet on ties."""
    counts = Counter(pair for document in seen for pair in document.spellings)
    found: dict[Stems, str] = {}
    for (label, text), _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        found.setdefault(label, text)
    return found


def _terms(seen: Sequence[Seen]) -> tuple[Keys, Vector]:
    found, counts = np.unique(
        np.concatenate([document.terms for document in seen]), return_counts=True
    )
    chosen = (counts >= FEWEST) & (counts <= max(FEWEST, COMMONEST * len(seen)))
    return found[chosen], np.log(len(seen) / counts[chosen]).astype(np.float32)


Entries = tuple[Indices, Indices, Vector]
"""Rows, columns and values of a sparse matrix."""


def _document_rows(seen: Sequence[Seen], terms: Keys, idf: Vector) -> Entries:
    """The terms of every document and their weights, scaled to unit length."""
    table = Table(terms, np.empty((len(terms), 0)))
    found = [places[places >= 0] for places in (table.places(document.terms) for document in seen)]
    columns = np.repeat(np.arange(len(found)), [len(places) for places in found])
    values = [unit(idf[places]) for places in found]
    return np.concatenate(found), columns, np.concatenate(values).astype(np.float32)


def _postings(rows: Indices, columns: Indices, values: Vector, count: int) -> Postings:
    order = np.argsort(rows, kind="stable")
    starts = np.searchsorted(rows[order], np.arange(count + 1))
    return Postings(starts, columns[order].astype(np.int32), values[order])


def _centres(documents: Entries, pairs: Indices, terms: int) -> Postings:
    """The mean direction of the documents of each label."""
    rows, columns, values = documents
    counts = np.bincount(columns, minlength=int(pairs[:, 0].max()) + 1)
    begin = counts.cumsum() - counts
    each = counts[pairs[:, 0]]  # terms of the document of each pair
    labels = np.repeat(pairs[:, 1], each)
    places = np.arange(each.sum()) + np.repeat(begin[pairs[:, 0]] - (each.cumsum() - each), each)
    cells, inverse = np.unique(labels * terms + rows[places], return_inverse=True)
    sums = np.bincount(inverse, values[places])
    owners = cells // max(1, terms)
    norms = np.sqrt(np.bincount(owners, sums**2, minlength=1))
    directions = (sums / norms[owners]).astype(np.float32)
    return _postings(cells % max(1, terms), owners, directions, terms)


def _topics(seen: Sequence[Seen], pairs: Indices, labels: int) -> Vector:
    vectors = np.stack([document.topic for document in seen])
    sums = np.zeros((labels, vectors.shape[1]), np.float32)
    np.add.at(sums, pairs[:, 1], vectors[pairs[:, 0]])
    return np.asarray(sums / np.linalg.norm(sums, axis=1, keepdims=True).clip(min=1e-6))


def _phrases(seen: Sequence[Seen], labels: Keys) -> Table:
    table = _tally([[document.phrases] for document in seen])
    chosen: NDArray[np.bool_] = (table.rows[:, 0] >= FEWEST) | np.isin(table.keys, labels)
    return table.where(chosen)


def _words(seen: Sequence[Seen]) -> Table:
    gold = [{(stem,) for phrase in document.gold for stem in phrase} for document in seen]
    return _tally([[document.words, keys(own)] for document, own in zip(seen, gold, strict=True)])


def _tally(columns: Sequence[Sequence[Keys]]) -> Table:
    tally = Tally(len(columns[0]))
    for document in columns:
        for number, found in enumerate(document):
            tally.add(number, found)
    return tally.table()
