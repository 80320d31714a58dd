"""Precision, recall and F1 at a cut-off."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keywright.matches import Part, ScoringRules
from keywright.metric import (
    Array,
    Chunk,
    Column,
    Cutoff,
    Limit,
    Measure,
    Metric,
    Predictions,
    Targets,
    harmonic,
    population,
    ratio,
)


@dataclass(frozen=True)
class Hits(Column):
    """Correct predictions within the cut-off."""

    part: Part
    cutoff: Cutoff

    def compute(self, chunk: Chunk) -> Array:
        inside = chunk.hits(self.part).inside(chunk[Limit(self.part, self.cutoff)])
        return np.bincount(inside.document, minlength=len(chunk)).astype(float)


@dataclass(frozen=True)
class Divisor(Column):
    """What precision divides by, and what a document adds to the micro sum of predictions."""

    part: Part
    cutoff: Cutoff
    divide_by: str

    def compute(self, chunk: Chunk) -> Array:
        predicted = chunk[Predictions(self.part)]
        limit = chunk[Limit(self.part, self.cutoff)]
        if self.cutoff.at == "M":
            return predicted
        if self.cutoff.padded or self.divide_by == "k":
            return limit
        if self.divide_by == "k_if_any":
            return np.where(predicted > 0, limit, 0.0)
        return np.minimum(limit, predicted)


@dataclass(frozen=True)
class DocumentPrecision(Column):
    part: Part
    cutoff: Cutoff
    divide_by: str

    def compute(self, chunk: Chunk) -> Array:
        divisor = chunk[Divisor(self.part, self.cutoff, self.divide_by)]
        return ratio(chunk[Hits(self.part, self.cutoff)], divisor)


@dataclass(frozen=True)
class DocumentRecall(Column):
    part: Part
    cutoff: Cutoff

    def compute(self, chunk: Chunk) -> Array:
        return ratio(chunk[Hits(self.part, self.cutoff)], chunk[Targets(self.part)])


@dataclass(frozen=True)
class DocumentF1(Column):
    part: Part
    cutoff: Cutoff
    divide_by: str

    def compute(self, chunk: Chunk) -> Array:
        return harmonic(
            chunk[DocumentPrecision(self.part, self.cutoff, self.divide_by)],
            chunk[DocumentRecall(self.part, self.cutoff)],
        )


def _cutoff(metric: Metric) -> Cutoff:
    assert metric.cutoff is not None, "ensured by Metric.parse and Measure.needs_cutoff"
    return metric.cutoff


class Precision(Measure):
    def columns(self, metric: Metric, rules: ScoringRules) -> tuple[Column, ...]:
        part, cutoff = metric.part, _cutoff(metric)
        if metric.average == "micro":
            return Hits(part, cutoff), Divisor(part, cutoff, rules.divide_by)
        return DocumentPrecision(part, cutoff, rules.divide_by), population(part, rules)

    def combine(self, sums: Array, metric: Metric, rules: ScoringRules) -> Array:
        return ratio(sums[..., 0], sums[..., 1])


class Recall(Measure):
    def columns(self, metric: Metric, rules: ScoringRules) -> tuple[Column, ...]:
        part, cutoff = metric.part, _cutoff(metric)
        if metric.average == "micro":
            return Hits(part, cutoff), Targets(part)
        return DocumentRecall(part, cutoff), population(part, rules)

    def combine(self, sums: Array, metric: Metric, rules: ScoringRules) -> Array:
        return ratio(sums[..., 0], sums[..., 1])


class F1(Measure):
    def columns(self, metric: Metric, rules: ScoringRules) -> tuple[Column, ...]:
        part, cutoff = metric.part, _cutoff(metric)
        if metric.average == "micro":
            divisor = Divisor(part, cutoff, rules.divide_by)
            return Hits(part, cutoff), divisor, Targets(part)
        if rules.f1 == "mean_of_documents":
            return DocumentF1(part, cutoff, rules.divide_by), population(part, rules)
        precision = DocumentPrecision(part, cutoff, rules.divide_by)
        return precision, DocumentRecall(part, cutoff), population(part, rules)

    def combine(self, sums: Array, metric: Metric, rules: ScoringRules) -> Array:
        if metric.average == "micro":
            hits = sums[..., 0]
            return harmonic(ratio(hits, sums[..., 1]), ratio(hits, sums[..., 2]))
        if rules.f1 == "mean_of_documents":
            return ratio(sums[..., 0], sums[..., 1])
        documents = sums[..., 2]
        return harmonic(ratio(sums[..., 0], documents), ratio(sums[..., 1], documents))


MEASURES = (
    Precision(
        "P",
        "precision; what P@5 divides by depends on the protocol",
        needs_cutoff=True,
        has_micro=True,
        order=10,
    ),
    Recall("R", "recall", needs_cutoff=True, has_micro=True, order=10),
    F1(
        "F1",
        "harmonic mean of precision and recall; how it is averaged depends on the protocol",
        needs_cutoff=True,
        has_micro=True,
        order=10,
    ),
)
