"""The fine-grained score FG and its token-level companions (Luo et al. 2021, section 3.3).

A predicted phrase is scored against its best target by edit distance and token overlap, a
repetition penalty rejects phrases that use up the targets' words, and a quantity penalty compares
the numbers of phrases. `FG-edit`, `FG-token`, `FG-repetition` and `FG-quantity` leave one part out
(the paper's table 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from rapidfuzz.distance import Levenshtein

from keywright.metrics._base import (
    Array,
    Chunk,
    Column,
    Measure,
    Metric,
    Ones,
    Predictions,
    ratio,
)
from keywright.metrics._matches import Part, Rules

# The release sets scores this small to zero.
SMALLEST_SCORE = 0.1
BOTH_EMPTY_WHEN_EVALUATING = 1.0
BOTH_EMPTY_AS_REWARD = 0.5


class Pair(NamedTuple):
    """How alike a prediction and a target are, in [0, 1] each."""

    edit: float  # 1 - word-level edit distance / longer length
    precision: float  # of the prediction's tokens, as multisets
    recall: float
    f1: float

    @property
    def score(self) -> float:
        return (self.edit + self.f1) / 2


NOTHING_SHARED = Pair(0.0, 0.0, 0.0, 0.0)
EQUAL = Pair(1.0, 1.0, 1.0, 1.0)


def compare(prediction: list[str], target: list[str]) -> Pair:
    """Equations 5 and 6: edit distance and token F1 of two token lists."""
    left = target.copy()
    for token in prediction:
        if token in left:
            left.remove(token)
    shared = len(target) - len(left)
    if not shared:
        return NOTHING_SHARED  # then every word is edited, too
    distance = Levenshtein.distance(prediction, target)
    precision, recall = shared / len(prediction), shared / len(target)
    return Pair(
        1.0 - distance / max(len(prediction), len(target)),
        precision,
        recall,
        2 * precision * recall / (precision + recall),
    )


class Likeness(NamedTuple):
    """One prediction: its best scores over all targets, and its pair with the best target."""

    tokens: list[str]
    both: float
    edit: float
    f1: float
    best: Pair


BOTH, EDIT, F1 = 1, 2, 3  # places of the scores in a Likeness


def likenesses(predictions: Sequence[str], targets: Sequence[str]) -> list[Likeness]:
    """Each prediction against its targets; phrases are stems joined by single blanks."""
    if not targets:
        return []
    gold = [target.split(" ") for target in targets]
    gold_words = set().union(*gold)
    exact = set(targets)
    found = []
    for phrase in predictions:
        tokens = phrase.split(" ")
        if phrase in exact:
            found.append(Likeness(tokens, 1.0, 1.0, 1.0, EQUAL))
        elif gold_words.isdisjoint(tokens):
            found.append(Likeness(tokens, 0.0, 0.0, 0.0, NOTHING_SHARED))
        else:
            pairs = [compare(tokens, target) for target in gold]
            best = max(pairs, key=lambda pair: pair.score)  # the first one on ties
            edit, f1 = max(pair.edit for pair in pairs), max(pair.f1 for pair in pairs)
            found.append(Likeness(tokens, best.score, edit, f1, best))
    return found


def fine_grained(
    found: Sequence[Likeness],
    targets: Sequence[str],
    without: str = "",
    both_empty: float = BOTH_EMPTY_WHEN_EVALUATING,
    predicted: int | None = None,
) -> float:
    """FG of one document (equation 7, algorithm 1) from its predictions' likenesses."""
    predicted = len(found) if predicted is None else predicted
    if not targets and not predicted:
        return both_empty
    if not targets or not predicted:
        return 0.0
    kind = itemgetter({"edit": F1, "token": EDIT}.get(without, BOTH))
    scores = [score if score > SMALLEST_SCORE else 0.0 for score in map(kind, found)]
    if without != "repetition":
        scores = _reject_repetition(found, scores, targets)
    mean = sum(scores) / predicted
    if without == "quantity":
        return mean
    most = max(len(targets), predicted)
    return (1.0 - (len(targets) - predicted) ** 2 / most**2) * mean


def _reject_repetition(
    found: Sequence[Likeness], scores: list[float], targets: Sequence[str]
) -> list[float]:
    """Zero the phrases that use a target word more often than all targets together do.

    Best phrases choose first; among equals the release visits the later one first. What a rejected
    phrase used is given back. Phrases that score 0 come last and can take nothing from others.
    """
    order = [index for index in range(len(scores) - 1, -1, -1) if scores[index] > 0.0]
    if not order:
        return scores
    order.sort(key=scores.__getitem__, reverse=True)  # stable: the later phrase stays first
    left: dict[str, int] = {}
    for token in " ".join(targets).split(" "):
        left[token] = left.get(token, 0) + 1
    accepted = [0.0] * len(scores)
    for index in order:
        used = [token for token in found[index].tokens if token in left]
        for token in used:
            left[token] -= 1
        if min(left[token] for token in used) >= 0:
            accepted[index] = scores[index]
        else:
            for token in used:
                left[token] += 1
    return accepted


def reward(predictions: Sequence[str], targets: Sequence[str]) -> float:
    """FG as a training reward: all phrases together, no filter but for empty pieces.

    Targets lose their repeats; a repeated prediction becomes `<pad>`, so it still counts as one.
    """
    gold = list(dict.fromkeys(target for target in targets if target))
    seen: set[str] = set()
    made = []
    for phrase in predictions:
        if phrase:
            made.append("<pad>" if phrase in seen else phrase)
            seen.add(phrase)
    return fine_grained(
        likenesses(made, gold), gold, both_empty=BOTH_EMPTY_AS_REWARD, predicted=len(made)
    )


def _likenesses(chunk: Chunk, part: str) -> list[list[Likeness]]:
    def compute(chunk: Chunk) -> list[list[Likeness]]:
        return [likenesses(one.predictions, one.targets) for one in chunk.part(part)]

    return chunk.memo(("likenesses", part), compute)


@dataclass(frozen=True)
class FGColumn(Column):
    part: str
    without: str = ""

    def compute(self, chunk: Chunk) -> Array:
        def score(part: Part, found: list[Likeness]) -> float:
            return fine_grained(found, part.targets, self.without, predicted=len(part.predictions))

        pairs = zip(chunk.part(self.part), _likenesses(chunk, self.part), strict=True)
        return np.array([score(part, found) for part, found in pairs])


@dataclass(frozen=True)
class TokenSum(Column):
    """Summed token precision, recall or F1 of the predictions with their best targets."""

    part: str
    what: str

    def compute(self, chunk: Chunk) -> Array:
        found = _likenesses(chunk, self.part)
        return np.array([sum(getattr(one.best, self.what) for one in row) for row in found])


class FG(Measure):
    """Mean over all documents, whatever they have or lack."""

    def columns(self, metric: Metric, rules: Rules) -> tuple[Column, ...]:
        return FGColumn(metric.part, metric.measure.partition("-")[2]), Ones()

    def combine(self, sums: Array, metric: Metric, rules: Rules) -> Array:
        return ratio(sums[..., 0], sums[..., 1])


TOKEN_MEASURES = {"TokenP": "precision", "TokenR": "recall", "TokenF1": "f1"}


class TokenLevel(Measure):
    """Mean over the corpus's predictions; those of documents without targets score 0."""

    def columns(self, metric: Metric, rules: Rules) -> tuple[Column, ...]:
        return TokenSum(metric.part, TOKEN_MEASURES[metric.measure]), Predictions(metric.part)

    def combine(self, sums: Array, metric: Metric, rules: Rules) -> Array:
        return ratio(sums[..., 0], sums[..., 1])


ABLATIONS = ("edit", "token", "repetition", "quantity")
MEASURES = (
    FG("FG"),
    *(FG(f"FG-{without}") for without in ABLATIONS),
    *(TokenLevel(name) for name in TOKEN_MEASURES),
)
