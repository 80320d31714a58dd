"""Score predictions: (documents, predictions, metrics, protocol) -> Evaluation.

Everything is streamed: documents are matched in chunks, a chunk becomes rows of per-document
columns, and only the sums of rows are kept, also by the bootstrap. Memory does not grow with the
corpus.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Literal

import numpy as np

from keywright import protocols
from keywright.data.documents import read_documents
from keywright.data.predictions import read_predictions
from keywright.errors import DataError, KeywrightError
from keywright.matches import Matches
from keywright.metric import Array, Chunk, Column, Metric
from keywright.protocol import Protocol
from keywright.types import Document, Prediction, ScoredPhrase

Match = Literal["auto", "id", "line"]
Pair = tuple[Document, Prediction]
Formats = tuple[str | None, str | None]

# Large enough to make numpy's calls cheap per document, small enough to stay in the cache.
CHUNK = 512


class Plan:
    """The columns that metrics need under a protocol, each once, and the scores of their sums.

    Macro, micro, per-document, bootstrap and permutation scores are `scores` of different sums.
    """

    def __init__(self, protocol: Protocol, metrics: Sequence[Metric]) -> None:
        self.protocol = protocol
        self.metrics = tuple(dict.fromkeys(metrics))
        index: dict[Column, int] = {}
        self._places: list[list[int]] = []
        for metric in self.metrics:
            columns = metric.definition.columns(metric, protocol.rules)
            self._places.append([index.setdefault(column, len(index)) for column in columns])
        self.columns = tuple(index)

    def rows(self, matches: Sequence[Matches]) -> Array:
        """[documents, columns]."""
        chunk = Chunk(matches)
        rows = np.empty((len(chunk), len(self.columns)))
        for place, column in enumerate(self.columns):
            rows[:, place] = chunk[column]
        return rows

    def scores(self, sums: Array) -> dict[str, Array]:
        """Every metric of column sums [..., columns]."""
        return {
            str(metric): metric.definition.combine(sums[..., places], metric, self.protocol.rules)
            for metric, places in zip(self.metrics, self._places, strict=True)
        }


class Bootstrap:
    """Resampled column sums, streamed.

    The weight of a document in a resample is drawn from a Poisson distribution of mean 1. This is
    the limit of drawing documents with replacement, and their number need not be known in advance.
    """

    def __init__(self, resamples: int, columns: int, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._sums = np.zeros((resamples, columns))
        self._weights = np.zeros(resamples)
        shares = np.cumsum([math.exp(-1) / math.factorial(k) for k in range(12)])
        # A table of weights for 16 random bits: ten times faster than Poisson draws.
        self._table = np.searchsorted(shares, (np.arange(65536) + 0.5) / 65536).astype(np.float64)

    def add(self, rows: Array) -> None:
        draws = self._random.integers(0, 65536, size=(len(self._sums), len(rows)), dtype=np.uint16)
        weights = self._table[draws]
        self._sums += weights @ rows
        self._weights += weights.sum(axis=1)

    def intervals(self, plan: Plan, share: float = 0.95) -> dict[str, tuple[float, float]]:
        """Percentile intervals; resamples without any document are left out."""
        tail = (1 - share) / 2
        found = {}
        for name, values in plan.scores(self._sums[self._weights > 0]).items():
            low, high = np.quantile(values, [tail, 1 - tail]) if len(values) else (0.0, 0.0)
            found[name] = (float(low), float(high))
        return found


@dataclass(frozen=True)
class Evaluation:
    """The scores of one set of predictions under one protocol."""

    protocol: str
    signature: str
    explanation: str
    documents: int
    documents_without_gold: int
    scores: dict[str, float]
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)

    def __getitem__(self, metric: str) -> float:
        return self.scores[metric]


Sink = Callable[[Sequence[Document], dict[str, Array]], None]


def evaluate(
    documents: str | Path | Iterable[Document],
    predictions: str | Path | Iterable[Prediction | Sequence[str]],
    *,
    protocol: str | Protocol = protocols.DEFAULT,
    metrics: Iterable[str] | None = None,
    resamples: int = 0,
    seed: int = 0,
    match: Match = "auto",
    formats: Formats = (None, None),
    per_document: Sink | None = None,
    watch: Callable[[int], None] | None = None,
) -> Evaluation:
    """Score predictions against the documents' gold keyphrases.

    Documents and predictions are files or iterables; a prediction may be a list of phrases. They
    are matched by id if both have one, otherwise by order (`match` forces either). `metrics` are
    names such as "present.F1@5" (by default, all that the protocol lists); `resamples` > 0 adds
    95% bootstrap intervals. `formats` are the formats of documents and predictions if they cannot
    be recognised from the content. `per_document` is called with each chunk of documents and their
    scores, `watch` with the number of documents done.
    """
    judge = protocols.load(protocol) if isinstance(protocol, str) else protocol
    plan = Plan(judge, resolve(metrics, judge))
    bootstrap = Bootstrap(resamples, len(plan.columns), seed) if resamples else None
    sums = np.zeros(len(plan.columns))
    count = without_gold = 0
    for batch, rows in matched_rows(plan, pair(documents, predictions, match, formats)):
        count += len(batch)
        without_gold += sum(not has_gold(document) for document in batch)
        sums += rows.sum(axis=0)
        if bootstrap is not None:
            bootstrap.add(rows)
        if per_document is not None:
            per_document(batch, plan.scores(rows))
        if watch is not None:
            watch(count)
    if without_gold == count:
        raise DataError(
            f"none of the {count:,} documents has a gold keyphrase, so there is nothing to score "
            "against; check the file of gold keyphrases",
            documents if isinstance(documents, str | Path) else None,
        )
    return Evaluation(
        protocol=str(judge),
        signature=judge.signature(),
        explanation=judge.explanation,
        documents=count,
        documents_without_gold=without_gold,
        scores={name: float(value) for name, value in plan.scores(sums).items()},
        intervals=bootstrap.intervals(plan) if bootstrap else {},
    )


def resolve(metrics: Iterable[str] | None, protocol: Protocol) -> list[Metric]:
    """Metrics by name; `all` (also None) and `standard` are the lists of the protocol.

    An error if there is no such metric, or the protocol lacks what it needs.
    """
    found: list[Metric] = []
    for name in ["all"] if metrics is None else metrics:
        if name == "all":
            found += protocol.metrics()
        elif name == "standard":
            found += map(Metric.parse, protocol.standard)
        else:
            found.append(Metric.parse(name))
    if not found:
        raise KeywrightError("no metric was given; leave out --metrics to get all of them")
    for metric in found:
        metric.definition.columns(metric, protocol.rules)
    return found


def has_gold(document: Document) -> bool:
    return any(phrase.strip() for phrase in document.keyphrases or ())


def matched_rows(plan: Plan, pairs: Iterable[Pair]) -> Iterator[tuple[list[Document], Array]]:
    """Rows of per-document columns, one chunk of documents at a time."""
    pairs = iter(pairs)
    while batch := list(islice(pairs, CHUNK)):
        rows = plan.rows(
            [plan.protocol.match(document, prediction.texts) for document, prediction in batch]
        )
        yield [document for document, _ in batch], rows


def pair(
    documents: str | Path | Iterable[Document],
    predictions: str | Path | Iterable[Prediction | Sequence[str]],
    match: Match = "auto",
    formats: Formats = (None, None),
) -> Iterator[Pair]:
    """Each document with its prediction, in the documents' order."""
    gold, gold_name = _documents(documents, formats[0])
    made, made_name = _predictions(predictions, formats[1])
    first_document, first_prediction = next(gold, None), next(made, None)
    if first_document is None:
        raise DataError("there are no documents", gold_name)
    if first_prediction is None:
        raise DataError("there are no predictions", made_name)
    gold, made = chain([first_document], gold), chain([first_prediction], made)
    have_ids = first_document.id is not None and first_prediction.document_id is not None
    if match == "id" and not have_ids:
        side = gold_name if first_document.id is None else made_name
        raise DataError("has no ids to match by; use --match line", side)
    if match == "id" or (match == "auto" and have_ids):
        pairs = _by_id(gold, made, gold_name, made_name)
    else:
        pairs = _by_line(gold, made, gold_name, made_name)
    for number, (document, prediction) in enumerate(pairs, 1):
        if document.keyphrases is None:
            raise DataError(
                f"document {document.id or f'number {number}'} has no gold keyphrases (the field "
                "is missing); use an empty list if there are none",
                gold_name,
            )
        yield document, prediction


def _documents(
    documents: str | Path | Iterable[Document], format: str | None
) -> tuple[Iterator[Document], str]:
    if isinstance(documents, str | Path):
        return iter(read_documents(documents, format=format, need_gold=True)), str(documents)
    return iter(documents), "documents"


def _predictions(
    predictions: str | Path | Iterable[Prediction | Sequence[str]], format: str | None
) -> tuple[Iterator[Prediction], str]:
    if isinstance(predictions, str | Path):
        return iter(read_predictions(predictions, format=format)), str(predictions)
    return map(_prediction, predictions), "predictions"


def _prediction(value: Prediction | Sequence[str]) -> Prediction:
    if isinstance(value, Prediction):
        return value
    if isinstance(value, str):
        raise TypeError("a prediction is a list of phrases, not one string")
    return Prediction(phrases=tuple(ScoredPhrase(text=phrase) for phrase in value))


def _by_line(
    documents: Iterator[Document], predictions: Iterator[Prediction], gold: str, made: str
) -> Iterator[Pair]:
    number = 0
    for number, document in enumerate(documents, 1):
        prediction = next(predictions, None)
        if prediction is None:
            more = 1 + sum(1 for _ in documents)
            raise DataError(
                f"has {number - 1:,} predictions for {number - 1 + more:,} documents in {gold}; "
                f"document {number:,} is the first without one",
                made,
            )
        yield document, prediction
    if next(predictions, None) is not None:
        more = 1 + sum(1 for _ in predictions)
        raise DataError(
            f"has {number + more:,} predictions for {number:,} documents in {gold}; "
            f"prediction {number + 1:,} is the first without a document",
            made,
        )


def _by_id(
    documents: Iterator[Document], predictions: Iterator[Prediction], gold: str, made: str
) -> Iterator[Pair]:
    """Files in the same order need no memory; predictions that come early are kept."""
    waiting: dict[str, Prediction] = {}
    read = 0
    for number, document in enumerate(documents, 1):
        if document.id is None:
            raise DataError(f"document {number:,} has no id, but those before it have one", gold)
        while document.id not in waiting:
            prediction = next(predictions, None)
            read += 1
            if prediction is None:
                early = next(iter(waiting), None)
                hint = f", but an extra one for {early!r} (is an id repeated?)"
                hint = "" if early is None else hint
                raise DataError(
                    f"has no prediction for document {document.id!r} (number {number:,} in {gold})"
                    f"{hint}; to match by order instead of id, use --match line",
                    made,
                )
            if prediction.document_id is None:
                raise DataError(
                    f"prediction {read:,} has no id, but those before it have one", made
                )
            if prediction.document_id in waiting:
                raise DataError(
                    f"prediction {read:,} repeats the id {prediction.document_id!r}", made
                )
            waiting[prediction.document_id] = prediction
        yield document, waiting.pop(document.id)
    extra = next(iter(waiting.values()), None) or next(predictions, None)
    if extra is not None:
        raise DataError(
            f"has a prediction for {extra.document_id!r}, which is not among the documents in "
            f"{gold}; to match by order instead of id, use --match line",
            made,
        )
