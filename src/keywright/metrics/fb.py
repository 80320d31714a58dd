"""FB: FG with the similarities that a trained scorer finds (Luo et al. 2021, section 3.4).

The similarity of a prediction is the best that the scorer gives it with any target (equation 8).
Algorithm 1, as printed in the paper, makes one number of the similarities of a document.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import cast

import numpy as np

from keywright import parts
from keywright.errors import KeywrightError, MissingExtraError
from keywright.matches import Part, ScoringRules
from keywright.metric import Array, Chunk, Column, Measure, Metric, Ones, ratio
from keywright.metrics import fg

PairScores = Callable[[Sequence[tuple[str, str]]], list[float]]
"""The similarities of (prediction, target) pairs, phrases being stems joined by blanks."""

Sides = tuple[Sequence[str], Sequence[str]]
"""The predictions and the targets of one document."""


def load_scorer(folder: str, precision: str = "fp32") -> PairScores:
    """The scorer of a run folder. It needs torch, so it is looked up by name when it is used."""
    path = Path(folder)
    return _load(folder, precision, path.stat().st_mtime_ns if path.exists() else 0)


@lru_cache(2)
def _load(folder: str, precision: str, changed: int) -> PairScores:
    """Rewards and metrics share a scorer, and what it remembers, until its folder changes."""
    try:
        scorer = parts.module("keywright.scorers", "scorer")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("keywright"):
            raise
        raise MissingExtraError("a scorer", error.name, "train") from None
    return cast(PairScores, scorer.load(folder, precision))


def best_similarities(
    documents: Sequence[Sides], scorer: PairScores, unscored: str | None = None
) -> list[list[float]]:
    """The similarity of each prediction with its most similar target (equation 8).

    It is 0 without targets, and for predictions equal to `unscored`. All pairs of all documents go
    to the scorer together.
    """
    pairs = [
        (prediction, target)
        for predictions, targets in documents
        for prediction in predictions
        if prediction != unscored
        for target in targets
    ]
    scores = dict(zip(pairs, scorer(pairs), strict=True))

    def best(prediction: str, targets: Sequence[str]) -> float:
        return max([scores.get((prediction, target), 0.0) for target in targets], default=0.0)

    return [
        [best(prediction, targets) for prediction in predictions]
        for predictions, targets in documents
    ]


def penalise_repetition(
    sides: Sides, similarities: list[float], give_back: bool = False
) -> list[float]:
    """The first half of algorithm 1; see `fg.reject_repetition`."""
    predictions, targets = sides
    if not targets:
        return similarities
    tokens = [phrase.split(" ") for phrase in predictions]
    return fg.reject_repetition(tokens, similarities, targets, give_back)


def lengths(documents: Sequence[Sides]) -> tuple[Array, Array]:
    """How many targets and how many predictions each document has."""
    return (
        np.array([float(len(targets)) for _, targets in documents]),
        np.array([float(len(predictions)) for predictions, _ in documents]),
    )


@dataclass(frozen=True)
class FBColumn(Column):
    part: Part
    scorer: str

    def compute(self, chunk: Chunk) -> Array:
        documents = [(found.predictions, found.targets) for found in chunk.part(self.part)]
        best = best_similarities(documents, load_scorer(self.scorer))
        totals = [sum(penalise_repetition(*both)) for both in zip(documents, best, strict=True)]
        counts = lengths(documents)
        return fg.mean_score(np.array(totals), *counts, "", fg.BOTH_EMPTY_WHEN_EVALUATING)


class FB(Measure):
    """The mean over all documents, whether they have targets or not."""

    def columns(self, metric: Metric, rules: ScoringRules) -> tuple[Column, ...]:
        if not rules.scorer:
            raise KeywrightError(
                f"metric {metric} needs a scorer; choose one with: --protocol fb:scorer=RUN-FOLDER"
            )
        return FBColumn(metric.part, rules.scorer), Ones()

    def combine(self, sums: Array, metric: Metric, rules: ScoringRules) -> Array:
        return ratio(sums[..., 0], sums[..., 1])


MEASURES = (
    FB(
        "FB",
        "FG with the similarities that a trained scorer finds (Luo et al. 2021), under the "
        "protocol `fb`",
        order=31,
        protocols=("fb",),
    ),
)
