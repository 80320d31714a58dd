"""How many phrases: error of their number, repeats, means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from keywright.metrics._base import (
    Array,
    Chunk,
    Column,
    Measure,
    Metric,
    Ones,
    Predictions,
    Targets,
    ratio,
)
from keywright.metrics._matches import Rules


@dataclass(frozen=True)
class NumberError(Column):
    """|targets - predictions|; for all phrases, of the present and absent ones together."""

    part: str

    def compute(self, chunk: Chunk) -> Array:
        parts = ("present", "absent") if self.part == "all" else (self.part,)
        difference = sum(chunk[Targets(part)] - chunk[Predictions(part)] for part in parts)
        return np.abs(difference)


@dataclass(frozen=True)
class Produced(Column):
    """Phrases before any filter."""

    part: str

    def compute(self, chunk: Chunk) -> Array:
        return np.array([part.produced for part in chunk.part(self.part)], dtype=float)


@dataclass(frozen=True)
class Unique(Column):
    """Different phrases before any other filter."""

    part: str

    def compute(self, chunk: Chunk) -> Array:
        return np.array([part.unique for part in chunk.part(self.part)], dtype=float)


@dataclass(frozen=True)
class Repeats(Column):
    """Phrases that were said before."""

    part: str

    def compute(self, chunk: Chunk) -> Array:
        return chunk[Produced(self.part)] - chunk[Unique(self.part)]


@dataclass(frozen=True)
class RepeatShare(Column):
    part: str

    def compute(self, chunk: Chunk) -> Array:
        return ratio(chunk[Repeats(self.part)], chunk[Produced(self.part)])


@dataclass(frozen=True)
class ProducesAny(Column):
    part: str

    def compute(self, chunk: Chunk) -> Array:
        return (chunk[Produced(self.part)] > 0).astype(float)


@dataclass(frozen=True)
class Mean(Measure):
    """The mean of a column over all documents."""

    column: Callable[[str], Column] = Targets

    def columns(self, metric: Metric, rules: Rules) -> tuple[Column, ...]:
        return self.column(metric.part), Ones()

    def combine(self, sums: Array, metric: Metric, rules: Rules) -> Array:
        return ratio(sums[..., 0], sums[..., 1])


class DuplicateRatio(Measure):
    def columns(self, metric: Metric, rules: Rules) -> tuple[Column, ...]:
        if rules.duplicates == "corpus":
            return Repeats(metric.part), Produced(metric.part)
        return RepeatShare(metric.part), ProducesAny(metric.part)

    def combine(self, sums: Array, metric: Metric, rules: Rules) -> Array:
        return ratio(sums[..., 0], sums[..., 1])


MEASURES = (
    Mean("MAE", column=NumberError),
    DuplicateRatio("Dup"),
    Mean("Unique", column=Unique),
    Mean("Predicted", column=Predictions),
    Mean("Gold", column=Targets),
)
