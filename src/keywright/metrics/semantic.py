"""Semantic precision, recall and F1 of KPEval (Wu et al. 2024): how close in meaning?

A prediction scores 1 if it equals a target, otherwise its highest cosine with a target, at least 0;
precision is the mean over predictions. Recall is the same with the two sides exchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from keywright.matches import Part, ScoringRules
from keywright.metric import Array, Chunk, Column, MeanMeasure, Metric, harmonic
from keywright.metrics import _encoder

Side = Literal["precision", "recall"]


@dataclass(frozen=True)
class Similarity(Column):
    """The mean best similarity of the phrases of one side with those of the other; 0 if either
    side is empty."""

    part: Part
    side: Side
    encoder: str
    exact: bool  # whether equal stems count as 1, whatever the encoder says

    def compute(self, chunk: Chunk) -> Array:
        documents = _encoder.worded(chunk)
        texts = {
            text
            for found in documents
            for text in (*found.predicted.values(), *found.gold.values())
        }
        vectors = _encoder.load(self.encoder).vectors(texts)
        scores = np.zeros(len(documents))
        for row, found in enumerate(documents):
            part = found.part(self.part)
            ours = {stems: found.predicted[stems] for stems in part.predictions}
            theirs = {stems: found.gold[stems] for stems in part.targets}
            sides = (ours, theirs) if self.side == "precision" else (theirs, ours)
            scores[row] = self._mean(*sides, vectors)
        return scores

    def _mean(
        self, phrases: Mapping[str, str], others: Mapping[str, str], vectors: Mapping[str, Array]
    ) -> float:
        if not phrases or not others:
            return 0.0
        best = np.maximum(_cosines(phrases, others, vectors).max(axis=1), 0.0)
        equal = np.array([stems in others for stems in phrases])
        return float(np.where(equal & self.exact, 1.0, best).mean())


def _cosines(
    phrases: Mapping[str, str], others: Mapping[str, str], vectors: Mapping[str, Array]
) -> Array:
    left, right = (
        np.stack([vectors[text] for text in side.values()]) for side in (phrases, others)
    )
    return left @ right.T


@dataclass(frozen=True)
class SemanticF1(Column):
    precision: Similarity
    recall: Similarity

    def compute(self, chunk: Chunk) -> Array:
        return harmonic(chunk[self.precision], chunk[self.recall])


class Semantic(MeanMeasure):
    def column(self, metric: Metric, rules: ScoringRules) -> Column:
        _encoder.require_words(metric, rules)
        precision = Similarity(metric.part, "precision", rules.encoder, True)
        recall = Similarity(metric.part, "recall", rules.encoder, rules.exact_recall)
        chosen: dict[str, Column] = {"SemP": precision, "SemR": recall}
        return chosen.get(metric.measure, SemanticF1(precision, recall))


MEASURES = tuple(
    Semantic(
        name,
        f"semantic {what} of KPEval: phrases count by their closeness in meaning, as a sentence "
        "encoder finds it",
        order=33,
        protocols=("kpeval",),
    )
    for name, what in (("SemP", "precision"), ("SemR", "recall"), ("SemF1", "F1"))
)
