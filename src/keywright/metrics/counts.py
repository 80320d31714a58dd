"""Numbers of phrases: their error, repeats, means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from keywright.matches import Part, ScoringRules
from keywright.metric import (
    COUNT,
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


@dataclass(frozen=True)
class NumberError(Column):
    """|targets - predictions|; for all phrases, of the present and absent phrases together."""

    part: Part

    def compute(self, chunk: Chunk) -> Array:
        parts: tuple[Part, ...] = ("present", "absent") if self.part == "all" else (self.part,)
        difference = np.zeros(len(chunk))
        for part in parts:
            difference += chunk[Targets(part)] - chunk[Predictions(part)]
        return np.abs(difference)


@dataclass(frozen=True)
class Produced(Column):
    """Phrases before any filter."""

    part: Part

    def compute(self, chunk: Chunk) -> Array:
        return np.array([part.produced for part in chunk.part(self.part)], dtype=float)


@dataclass(frozen=True)
class Unique(Column):
    """Different phrases before any other filter."""

    part: Part

    def compute(self, chunk: Chunk) -> Array:
        return np.array([part.unique for part in chunk.part(self.part)], dtype=float)


@dataclass(frozen=True)
class Repeats(Column):
    """Phrases that repeat an earlier one."""

    part: Part

    def compute(self, chunk: Chunk) -> Array:
        return chunk[Produced(self.part)] - chunk[Unique(self.part)]


@dataclass(frozen=True)
class RepeatShare(Column):
    part: Part

    def compute(self, chunk: Chunk) -> Array:
        return ratio(chunk[Repeats(self.part)], chunk[Produced(self.part)])


@dataclass(frozen=True)
class ProducesAny(Column):
    part: Part

    def compute(self, chunk: Chunk) -> Array:
        return (chunk[Produced(self.part)] > 0).astype(float)


@dataclass(frozen=True)
class Mean(Measure):
    """The mean of a column over all documents."""

    column: Callable[[Part], Column] = Targets

    def columns(self, metric: Metric, rules: ScoringRules) -> tuple[Column, ...]:
        return self.column(metric.part), Ones()

    def combine(self, sums: Array, metric: Metric, rules: ScoringRules) -> Array:
        return ratio(sums[..., 0], sums[..., 1])


class DuplicateRatio(Measure):
    def columns(self, metric: Metric, rules: ScoringRules) -> tuple[Column, ...]:
        if rules.duplicates == "corpus":
            return Repeats(metric.part), Produced(metric.part)
        return RepeatShare(metric.part), ProducesAny(metric.part)

    def combine(self, sums: Array, metric: Metric, rules: ScoringRules) -> Array:
        return ratio(sums[..., 0], sums[..., 1])


MEASURES = (
    Mean(
        "MAE",
        "mean of |gold − predicted|, the error of the number of phrases",
        column=NumberError,
        unit=COUNT,
        better="lower",
        order=40,
    ),
    DuplicateRatio(
        "Dup",
        "share of predictions that repeat an earlier one, before any filter",
        better="lower",
        order=40,
    ),
    Mean(
        "Unique",
        "different phrases per document, before any other filter",
        column=Unique,
        unit=COUNT,
        better="neither",
        order=40,
    ),
    Mean(
        "Predicted",
        "predicted phrases per document, after all filters",
        column=Predictions,
        unit=COUNT,
        better="neither",
        order=40,
    ),
    Mean(
        "Gold",
        "gold phrases per document",
        column=Targets,
        unit=COUNT,
        better="neither",
        order=40,
    ),
)
