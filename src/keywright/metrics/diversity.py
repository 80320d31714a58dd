"""Diversity of predictions (KPEval, Wu et al. 2024): repeated tokens, and similar phrases.

All predictions count, also repeated and invalid ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keywright.matches import Part, ScoringRules
from keywright.metric import Array, Chunk, Column, MeanMeasure, Metric
from keywright.metrics import _encoder


@dataclass(frozen=True)
class RepeatedTokens(Column):
    """1 - distinct / all stems of the predictions; 1 without predictions, as released."""

    part: Part

    def compute(self, chunk: Chunk) -> Array:
        return np.array(
            [self._ratio(found.produced[self.part]) for found in _encoder.worded(chunk)]
        )

    @staticmethod
    def _ratio(produced: list[tuple[str, str]]) -> float:
        tokens = [token for stems, _ in produced for token in stems.split()]
        return 1.0 - len(set(tokens)) / len(tokens) if tokens else 1.0


@dataclass(frozen=True)
class PairwiseSimilarity(Column):
    """The mean cosine of two predictions; 1 for a single one and 0 for none, as released."""

    part: Part
    encoder: str

    def compute(self, chunk: Chunk) -> Array:
        documents = [[text for _, text in f.produced[self.part]] for f in _encoder.worded(chunk)]
        vectors = _encoder.load(self.encoder).vectors(text for texts in documents for text in texts)
        return np.array([self._mean([vectors[text] for text in texts]) for texts in documents])

    @staticmethod
    def _mean(vectors: list[Array]) -> float:
        if len(vectors) < 2:
            return float(len(vectors))
        stacked = np.stack(vectors)
        return float((stacked @ stacked.T)[np.triu_indices(len(vectors), 1)].mean())


class Diversity(MeanMeasure):
    def column(self, metric: Metric, rules: ScoringRules) -> Column:
        _encoder.require_words(metric, rules)
        if metric.measure == "DupToken":
            return RepeatedTokens(metric.part)
        return PairwiseSimilarity(metric.part, rules.encoder)


MEASURES = (
    Diversity(
        "DupToken",
        "share of the predicted stems that repeat an earlier one of the document (KPEval)",
        better="lower",
        order=82,
        protocols=("kpeval",),
    ),
    Diversity(
        "EmbSim",
        "mean cosine of two predictions of a document, as a sentence encoder finds it (KPEval)",
        better="lower",
        order=82,
        protocols=("kpeval",),
    ),
)
