"""Columns, chunks and the grammar of metric names."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from keywright import parts
from keywright.errors import KeywrightError, UnknownNameError
from keywright.metrics._matches import PARTS, Matches, Part, Rules

Array = NDArray[np.float64]
Average = Literal["macro", "micro"]
T = TypeVar("T")


@dataclass(frozen=True)
class Cutoff:
    """How many predictions count: the first `at`, all of them (`M`), or as many as gold (`O`).

    `padded` (written `5R`) divides precision by k whatever the protocol does, as if the list had
    been filled up with wrong phrases.
    """

    at: int | Literal["M", "O"]
    padded: bool = False

    def __str__(self) -> str:
        return f"{self.at}{'R' if self.padded else ''}"

    @staticmethod
    def parse(text: str) -> Cutoff | None:
        match = re.fullmatch(r"([1-9]\d{0,5}|M|O)(R?)", text)
        if match is None or (match[1] == "M" and match[2]):
            return None
        at: int | Literal["M", "O"]
        if match[1] == "M":
            at = "M"
        elif match[1] == "O":
            at = "O"
        else:
            at = int(match[1])
        return Cutoff(at, bool(match[2]))


@dataclass(frozen=True)
class Metric:
    """A metric's full name; `str` gives what `parse` takes."""

    part: str
    measure: str
    cutoff: Cutoff | None = None
    average: Average = "macro"

    def __str__(self) -> str:
        micro = "micro." if self.average == "micro" else ""
        cutoff = f"@{self.cutoff}" if self.cutoff else ""
        return f"{self.part}.{micro}{self.measure}{cutoff}"

    @staticmethod
    def parse(text: str) -> Metric:
        fields = text.strip().split(".")
        average: Average = "macro"
        if len(fields) == 3 and fields[1] in ("micro", "macro"):
            average = "micro" if fields[1] == "micro" else "macro"
            del fields[1]
        if len(fields) != 2:
            raise KeywrightError(
                f"metric {text!r} is not PART.[micro.]NAME[@CUTOFF], for example present.F1@5, "
                "present.micro.F1@M or absent.R@50"
            )
        part, (name, at, cut) = fields[0], fields[1].partition("@")
        if part not in PARTS:
            raise UnknownNameError(f"part in metric {text!r}:", part, PARTS)
        known = measures()
        if name not in known:
            raise UnknownNameError(f"measure in metric {text!r}:", name, known)
        cutoff = Cutoff.parse(cut) if at else None
        if at and cutoff is None:
            raise KeywrightError(
                f"metric {text!r}: the cut-off {cut!r} is not a number, M (all predicted) or "
                "O (as many as gold); a number or O may carry R (padded), as in F1@5R"
            )
        if known[name].needs_cutoff != bool(at):
            form = f"{name}@5" if known[name].needs_cutoff else name
            raise KeywrightError(
                f"metric {text!r}: {name} {'needs a' if not at else 'takes no'} cut-off; "
                f"write {part}.{form}"
            )
        if average == "micro" and not known[name].has_micro:
            raise KeywrightError(f"metric {text!r}: {name} has no micro average")
        return Metric(part, name, cutoff, average)


class Column(ABC):
    """One number per document. Columns are values: equal ones are computed once per chunk."""

    @abstractmethod
    def compute(self, chunk: Chunk) -> Array:
        """The column of a chunk, [documents]."""


@dataclass(frozen=True)
class Measure(ABC):
    """What a metric's name stands for: columns to sum, and the score of their sums.

    `combine` must not care about scale, so that one function gives the corpus score (sums over
    all documents), a document's score (one row) and a resample's (weighted sums).
    """

    name: str
    needs_cutoff: bool = False
    has_micro: bool = False

    @abstractmethod
    def columns(self, metric: Metric, rules: Rules) -> tuple[Column, ...]:
        """The columns whose sums `combine` takes, in that order."""

    @abstractmethod
    def combine(self, sums: Array, metric: Metric, rules: Rules) -> Array:
        """Scores [...] of column sums [..., columns]."""


@cache
def measures() -> dict[str, Measure]:
    """Every measure of every file in `metrics/`, by name."""
    found: dict[str, Measure] = {}
    for name in parts.names("keywright.metrics"):
        for measure in parts.module("keywright.metrics", name).MEASURES:
            found[measure.name] = measure
    return found


class Ranked:
    """Weighted things at ranks of documents, flat: entry i is `(document, rank from 0, weight)`."""

    def __init__(self, entries: Sequence[tuple[int, int, float]]) -> None:
        # Three times faster than `np.array` of tuples.
        table = np.fromiter(chain.from_iterable(entries), np.float64, 3 * len(entries))
        table = table.reshape(-1, 3)
        self.document = table[:, 0].astype(np.int64)
        self.rank = table[:, 1].astype(np.int64)
        self.weight = table[:, 2]

    def inside(self, limit: Array) -> Ranked:
        """The entries above each document's `limit` [documents]."""
        keep = self.rank < limit[self.document]
        kept = object.__new__(Ranked)
        kept.document, kept.rank = self.document[keep], self.rank[keep]
        kept.weight = self.weight[keep]
        return kept

    def sums(self, documents: int, weight: Array | None = None) -> Array:
        """Summed weights (the entries' own by default) of each document, [documents]."""
        weight = self.weight if weight is None else weight
        return np.bincount(self.document, weights=weight, minlength=documents).astype(float)


class Chunk:
    """Some documents of one corpus, with everything computed about them so far."""

    def __init__(self, matches: Sequence[Matches]) -> None:
        self.matches = matches
        self._memo: dict[Hashable, Any] = {}

    def __len__(self) -> int:
        return len(self.matches)

    def __getitem__(self, column: Column) -> Array:
        return self.memo(column, column.compute)

    def memo(self, key: Hashable, compute: Callable[[Chunk], T]) -> T:
        if key not in self._memo:
            self._memo[key] = compute(self)
        found: T = self._memo[key]
        return found

    def part(self, name: str) -> list[Part]:
        return [getattr(match, name) for match in self.matches]

    def hits(self, part: str) -> Ranked:
        """The hits of every document; the weight is the precision at the hit's rank."""
        return self.memo(("hits", part), lambda chunk: _hits(chunk.part(part)))


def _hits(documents: Iterable[Part]) -> Ranked:
    entries = [
        (index, rank, ordinal / (rank + 1))
        for index, part in enumerate(documents)
        for ordinal, rank in enumerate(part.hits, 1)
    ]
    return Ranked(entries)


def ratio(numerator: Array, denominator: Array) -> Array:
    """Division in which anything over nothing is 0."""
    zero = denominator == 0
    return np.where(zero, 0.0, numerator / np.where(zero, 1.0, denominator))


def harmonic(a: Array, b: Array) -> Array:
    """2ab / (a + b), 0 where both are 0."""
    return ratio(2 * a * b, a + b)


@dataclass(frozen=True)
class Ones(Column):
    """1 for every document: its sum is their number."""

    def compute(self, chunk: Chunk) -> Array:
        return np.ones(len(chunk))


@dataclass(frozen=True)
class Predictions(Column):
    """How many phrases are predicted, after filtering."""

    part: str

    def compute(self, chunk: Chunk) -> Array:
        return np.array([len(part.predictions) for part in chunk.part(self.part)], dtype=float)


@dataclass(frozen=True)
class Targets(Column):
    """How many phrases are gold."""

    part: str

    def compute(self, chunk: Chunk) -> Array:
        return np.array([len(part.targets) for part in chunk.part(self.part)], dtype=float)


@dataclass(frozen=True)
class HasTargets(Column):
    """1 for a document with gold in the part."""

    part: str

    def compute(self, chunk: Chunk) -> Array:
        return (chunk[Targets(self.part)] > 0).astype(float)


@dataclass(frozen=True)
class Limit(Column):
    """The cut-off as a number of predictions."""

    part: str
    cutoff: Cutoff

    def compute(self, chunk: Chunk) -> Array:
        match self.cutoff.at:
            case "M":
                return chunk[Predictions(self.part)]
            case "O":
                return chunk[Targets(self.part)]
            case int(k):
                return np.full(len(chunk), float(k))


def population(part: str, rules: Rules) -> Column:
    """The column that counts the documents a macro average runs over."""
    return Ones() if rules.average_over == "all" else HasTargets(part)


class MeanMeasure(Measure):
    """A measure whose corpus value is the mean of one column over a protocol's documents."""

    @abstractmethod
    def column(self, metric: Metric, rules: Rules) -> Column:
        """The document's score: 0 where the document has no target."""

    def columns(self, metric: Metric, rules: Rules) -> tuple[Column, ...]:
        return self.column(metric, rules), population(metric.part, rules)

    def combine(self, sums: Array, metric: Metric, rules: Rules) -> Array:
        return ratio(sums[..., 0], sums[..., 1])
