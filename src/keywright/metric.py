"""Metric names, and what a metric is made of: columns of numbers per document, and measures.

A measure says everything about itself in its own file of `metrics/`: how it is computed, the unit
that its values are written in, whether higher is better, and where it is listed.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cache
from itertools import chain, groupby
from typing import Any, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from keywright import parts
from keywright.errors import KeywrightError, UnknownNameError
from keywright.matches import PARTS, Matches, Part, PartMatches, ScoringRules

Array = NDArray[np.float64]
Average = Literal["macro", "micro"]
AVERAGES: tuple[Average, ...] = get_args(Average)
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
    """A metric's full name; `parse` reads what `str` writes."""

    part: Part
    measure: str
    cutoff: Cutoff | None = None
    average: Average = "macro"

    def __str__(self) -> str:
        micro = "micro." if self.average == "micro" else ""
        cutoff = f"@{self.cutoff}" if self.cutoff else ""
        return f"{self.part}.{micro}{self.measure}{cutoff}"

    @property
    def definition(self) -> Measure:
        return measures()[self.measure]

    def show(self, value: float) -> str:
        """A value of this metric as papers print it."""
        return self.definition.unit.show(value)

    @staticmethod
    def parse(text: str) -> Metric:
        fields = text.strip().split(".")
        average: Average = "macro"
        if len(fields) == 3 and fields[1] in AVERAGES:
            average = "micro" if fields[1] == "micro" else "macro"
            del fields[1]
        if len(fields) != 2:
            raise KeywrightError(
                f"metric {text!r} does not have the form PART.[micro.]NAME[@CUTOFF], for example "
                "present.F1@5, present.micro.F1@M or absent.R@50"
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
                "O (as many as gold); a number or O may be followed by R (padded), as in F1@5R"
            )
        _check_form(text, part, known[name], bool(at), average)
        return Metric(part, name, cutoff, average)


def _check_form(text: str, part: str, measure: Measure, has_cutoff: bool, average: Average) -> None:
    name = measure.name
    if measure.needs_cutoff != has_cutoff:
        form = f"{name}@5" if measure.needs_cutoff else name
        raise KeywrightError(
            f"metric {text!r}: {name} {'takes no' if has_cutoff else 'needs a'} cut-off; "
            f"write {part}.{form}"
        )
    if average == "micro" and not measure.has_micro:
        raise KeywrightError(f"metric {text!r}: {name} has no micro average")


class Column(ABC):
    """One number per document. Columns are values: equal ones are computed once per chunk."""

    @abstractmethod
    def compute(self, chunk: Chunk) -> Array:
        """The column of a chunk, [documents]."""


@dataclass(frozen=True)
class Unit:
    """How the values of a measure are written: multiplied by `scale`, with `digits` decimals."""

    name: str
    scale: float
    digits: int

    def show(self, value: float) -> str:
        return f"{self.scale * value:.{self.digits}f}"


PERCENT = Unit("times 100", 100, 2)
"""For measures in [0, 1], which papers print times 100."""
COUNT = Unit("count", 1, 3)
"""For numbers of phrases."""
RATIO = Unit("ratio", 1, 3)
"""For quotients that may exceed 1."""

Better = Literal["higher", "lower", "neither"]


@dataclass(frozen=True)
class Measure(ABC):
    """What a metric's name stands for: columns to sum, and the score of their sums.

    `combine` must not depend on scale, so that one function gives the corpus score (sums over all
    documents), a document's score (one row) and a resample's (weighted sums).

    A measure is listed for every part and, if it has one, with its micro average. `description` is
    what documentation and listings say about it.
    """

    name: str
    description: str
    _: KW_ONLY
    unit: Unit = PERCENT
    better: Better = "higher"
    needs_cutoff: bool = False
    # The cut-offs it is listed with, if they are not the protocol's.
    cutoffs: tuple[str, ...] = ()
    has_micro: bool = False
    # Its place in lists: lower first. Measures of equal order are listed side by side, cut-off by
    # cut-off.
    order: int = 100
    # The protocols that list it; all of them by default. It can be computed under every protocol.
    protocols: tuple[str, ...] = ()

    @abstractmethod
    def columns(self, metric: Metric, rules: ScoringRules) -> tuple[Column, ...]:
        """The columns whose sums `combine` takes, in that order."""

    @abstractmethod
    def combine(self, sums: Array, metric: Metric, rules: ScoringRules) -> Array:
        """Scores [...] of column sums [..., columns]."""


@cache
def measures() -> dict[str, Measure]:
    """Every measure of every file in `metrics/`, by name, in the order of lists."""
    found: dict[str, Measure] = {}
    for file in parts.names("keywright.metrics"):
        for measure in parts.module("keywright.metrics", file).MEASURES:
            if measure.name in found:
                raise ValueError(f"metrics/{file}.py: there is already a measure {measure.name}")
            found[measure.name] = measure
    return dict(sorted(found.items(), key=lambda item: item[1].order))


def listing(protocol: str, cutoffs: Sequence[str]) -> Iterator[Metric]:
    """Every metric that a protocol lists, where its cut-offs are those given."""
    chosen = [m for m in measures().values() if not m.protocols or protocol in m.protocols]
    groups = [list(group) for _, group in groupby(chosen, key=lambda measure: measure.order)]
    for part in PARTS:
        for group in groups:
            for average in AVERAGES:
                for measure, cutoff in _side_by_side(group, cutoffs):
                    if average == "macro" or measure.has_micro:
                        yield Metric(part, measure.name, cutoff, average)


def _side_by_side(
    group: Sequence[Measure], cutoffs: Sequence[str]
) -> Iterator[tuple[Measure, Cutoff | None]]:
    wanted = {m.name: m.cutoffs or cutoffs for m in group if m.needs_cutoff}
    for text in dict.fromkeys(chain.from_iterable(wanted.values())):
        for measure in group:
            if text in wanted.get(measure.name, ()):
                yield measure, Cutoff.parse(text)
    for measure in group:
        if not measure.needs_cutoff:
            yield measure, None


class Ranked:
    """Weights at ranks of documents, flat: entry i is `(document, rank from 0, weight)`."""

    def __init__(self, entries: Sequence[tuple[int, int, float]]) -> None:
        # Three times faster than `np.array` of tuples.
        table = np.fromiter(chain.from_iterable(entries), np.float64, 3 * len(entries))
        table = table.reshape(-1, 3)
        self.document = table[:, 0].astype(np.int64)
        self.rank = table[:, 1].astype(np.int64)
        self.weight = table[:, 2]

    def inside(self, limit: Array) -> Ranked:
        """The entries whose rank is below the document's `limit` [documents]."""
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
    """Some documents of a corpus, and everything that was computed about them so far."""

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

    def part(self, name: Part) -> list[PartMatches]:
        return self.memo(("part", name), lambda chunk: [m.part(name) for m in chunk.matches])

    def hits(self, part: Part) -> Ranked:
        """The hits of every document, weighted by the precision at their rank."""
        return self.memo(("hits", part), lambda chunk: _hits(chunk.part(part)))


def _hits(documents: Iterable[PartMatches]) -> Ranked:
    entries = [
        (index, rank, ordinal / (rank + 1))
        for index, part in enumerate(documents)
        for ordinal, rank in enumerate(part.hits, 1)
    ]
    return Ranked(entries)


def ratio(numerator: Array, denominator: Array) -> Array:
    """Division in which x / 0 is 0."""
    zero = denominator == 0
    return np.where(zero, 0.0, numerator / np.where(zero, 1.0, denominator))


def harmonic(a: Array, b: Array) -> Array:
    """2ab / (a + b), 0 where both are 0."""
    return ratio(2 * a * b, a + b)


@dataclass(frozen=True)
class Ones(Column):
    """1 for every document: the sum is the number of documents."""

    def compute(self, chunk: Chunk) -> Array:
        return np.ones(len(chunk))


@dataclass(frozen=True)
class Predictions(Column):
    """How many phrases are predicted, after filtering."""

    part: Part

    def compute(self, chunk: Chunk) -> Array:
        return np.array([len(part.predictions) for part in chunk.part(self.part)], dtype=float)


@dataclass(frozen=True)
class Targets(Column):
    """How many phrases are gold."""

    part: Part

    def compute(self, chunk: Chunk) -> Array:
        return np.array([len(part.targets) for part in chunk.part(self.part)], dtype=float)


@dataclass(frozen=True)
class HasTargets(Column):
    """1 for a document with gold in the part."""

    part: Part

    def compute(self, chunk: Chunk) -> Array:
        return (chunk[Targets(self.part)] > 0).astype(float)


@dataclass(frozen=True)
class Limit(Column):
    """The cut-off as a number of predictions."""

    part: Part
    cutoff: Cutoff

    def compute(self, chunk: Chunk) -> Array:
        match self.cutoff.at:
            case "M":
                return chunk[Predictions(self.part)]
            case "O":
                return chunk[Targets(self.part)]
            case int(k):
                return np.full(len(chunk), float(k))


def population(part: Part, rules: ScoringRules) -> Column:
    """The column that counts the documents of a macro average."""
    return Ones() if rules.average_over == "all" else HasTargets(part)


class MeanMeasure(Measure):
    """A measure whose corpus value is the mean of one column over the protocol's documents."""

    @abstractmethod
    def column(self, metric: Metric, rules: ScoringRules) -> Column:
        """The document's score, 0 if the document has no target."""

    def columns(self, metric: Metric, rules: ScoringRules) -> tuple[Column, ...]:
        return self.column(metric, rules), population(metric.part, rules)

    def combine(self, sums: Array, metric: Metric, rules: ScoringRules) -> Array:
        return ratio(sums[..., 0], sums[..., 1])
