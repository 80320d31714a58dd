"""The fine-grained score FG and its token-level companions (Luo et al. 2021, section 3.3).

A predicted phrase is scored against its best target by edit distance and token overlap, a
repetition penalty rejects phrases that use the targets' words too often, and a quantity penalty
compares the numbers of phrases. `FG-edit`, `FG-token`, `FG-repetition` and `FG-quantity` leave out
one component (the paper's table 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from rapidfuzz.distance import Levenshtein

from keywright.matches import Part, PartMatches, ScoringRules
from keywright.metric import (
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

# The release sets scores this small to zero.
SMALLEST_SCORE = 0.1
BOTH_EMPTY_WHEN_EVALUATING = 1.0
BOTH_EMPTY_AS_REWARD = 0.5


class Pair(NamedTuple):
    """How similar a prediction and a target are; every value is in [0, 1]."""

    edit: float  # 1 - word-level edit distance / longer length
    precision: float  # of the prediction's tokens, as multisets
    recall: float
    f1: float
    both: float  # mean of `edit` and `f1`


NOTHING_SHARED = Pair(0.0, 0.0, 0.0, 0.0, 0.0)  # every word is edited as well
EQUAL = Pair(1.0, 1.0, 1.0, 1.0, 1.0)


def compare(prediction: list[str], target: list[str]) -> Pair:
    """Equations 5 and 6: edit distance and token F1 of two token lists that share a token."""
    left = target.copy()
    for token in prediction:
        if token in left:
            left.remove(token)
    shared = len(target) - len(left)
    distance = Levenshtein.distance(prediction, target)
    edit = 1.0 - distance / max(len(prediction), len(target))
    precision, recall = shared / len(prediction), shared / len(target)
    f1 = 2 * precision * recall / (precision + recall)
    return Pair(edit, precision, recall, f1, (edit + f1) / 2)


class Likeness(NamedTuple):
    """One prediction: its best scores over all targets, and its pair with the best target."""

    tokens: list[str]
    both: float
    edit: float
    f1: float
    best: Pair


def likenesses(predictions: Sequence[str], targets: Sequence[str]) -> list[Likeness]:
    """Each prediction compared with all targets; empty if there are no targets.

    Phrases are stems joined by single blanks.
    """
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
            found.append(_likeness(tokens, gold))
    return found


def _likeness(tokens: list[str], gold: list[list[str]]) -> Likeness:
    """A prediction that shares a word with a target; other targets can only score less."""
    words = set(tokens)
    pairs = [compare(tokens, target) for target in gold if not words.isdisjoint(target)]
    if len(pairs) == 1:
        best = pairs[0]
        return Likeness(tokens, best.both, best.edit, best.f1, best)
    best = max(pairs, key=lambda pair: pair.both)  # the first one on ties
    edit, f1 = max(pair.edit for pair in pairs), max(pair.f1 for pair in pairs)
    return Likeness(tokens, best.both, edit, f1, best)


class Sums(NamedTuple):
    """The summed scores of a document's predictions, with all components and without some.

    The token scores are those of each prediction with its best target.
    """

    full: float = 0.0
    no_edit: float = 0.0
    no_token: float = 0.0
    no_repetition: float = 0.0
    precision: float = 0.0
    recall: float = 0.0
    f1: float = 0.0


NOTHING = Sums()
# FG without a component -> its place in Sums. The quantity penalty does not affect the sums.
PLACES = {"": 0, "edit": 1, "token": 2, "repetition": 3, "quantity": 0}


def summed(found: Sequence[Likeness], targets: Sequence[str]) -> Sums:
    found = [likeness for likeness in found if likeness.both]  # the others score 0 in every way
    both = above_threshold([likeness.both for likeness in found])
    edit = above_threshold([likeness.edit for likeness in found])
    f1 = above_threshold([likeness.f1 for likeness in found])
    unpenalised = sum(both)
    if _any_repetition(found, targets):
        phrases = [likeness.tokens for likeness in found]
        both, edit, f1 = (reject_repetition(phrases, kind, targets) for kind in (both, edit, f1))
    return Sums(
        sum(both),
        sum(f1),
        sum(edit),
        unpenalised,
        sum([likeness.best.precision for likeness in found]),
        sum([likeness.best.recall for likeness in found]),
        sum([likeness.best.f1 for likeness in found]),
    )


def above_threshold(scores: Sequence[float], smallest: float = SMALLEST_SCORE) -> list[float]:
    """Scores of `smallest` and below become 0."""
    return [score if score > smallest else 0.0 for score in scores]


def _supply(targets: Sequence[str]) -> dict[str, int]:
    """How often the targets together contain each word."""
    supply: dict[str, int] = {}
    for token in " ".join(targets).split(" "):
        supply[token] = supply.get(token, 0) + 1
    return supply


def _any_repetition(found: Sequence[Likeness], targets: Sequence[str]) -> bool:
    """Whether the predictions use any target word more often than the targets contain it.

    This is rare; otherwise nothing can be rejected.
    """
    left = _supply(targets)
    for likeness in found:
        for token in likeness.tokens:
            if token in left:
                if not left[token]:
                    return True
                left[token] -= 1
    return False


def reject_repetition(
    phrases: Sequence[Sequence[str]],
    scores: list[float],
    targets: Sequence[str],
    give_back: bool = True,
) -> list[float]:
    """Set the scores of phrases to 0 that use a target word more often than all targets together.

    `phrases` are the tokens of the predictions that `scores` belong to. The best phrase is visited
    first; among equals the release visits the later one first. In the release, the words of a
    rejected phrase may be used again (`give_back`); in algorithm 1 as printed they may not. Phrases
    that score 0 come last and cannot affect others.
    """
    order = [index for index in range(len(scores) - 1, -1, -1) if scores[index] > 0.0]
    order.sort(key=scores.__getitem__, reverse=True)  # stable: the later phrase stays first
    left = _supply(targets)
    accepted = [0.0] * len(scores)
    for index in order:
        used = [token for token in phrases[index] if token in left]
        for token in used:
            left[token] -= 1
        if all(left[token] >= 0 for token in used):
            accepted[index] = scores[index]
        elif give_back:
            for token in used:
                left[token] += 1
    return accepted


def fine_grained(
    found: Sequence[Likeness],
    targets: Sequence[str],
    predicted: int,
    without: str = "",
    both_empty: float = BOTH_EMPTY_WHEN_EVALUATING,
) -> float:
    """FG of one document (equation 7, algorithm 1); `predicted` is the number of predictions."""
    total = np.array([summed(found, targets)[PLACES[without]]])
    counts = np.array([float(len(targets))]), np.array([float(predicted)])
    return float(mean_score(total, *counts, without, both_empty)[0])


def mean_score(
    total: Array, targets: Array, predicted: Array, without: str, both_empty: float
) -> Array:
    """FG [documents] from summed scores; the sum of a document without targets is 0."""
    mean = ratio(total, predicted)
    if without != "quantity":
        mean *= 1.0 - ratio((targets - predicted) ** 2, np.maximum(targets, predicted) ** 2)
    return np.where(targets + predicted == 0, both_empty, mean)


def _document_sums(part: PartMatches) -> Sums:
    """`summed`, with a shortcut if every prediction equals a target or shares no word with any.

    Predictions have no repeats, so those that equal targets cannot use a word too often.
    """
    if not part.predictions or not part.targets:
        return NOTHING
    exact = set(part.targets)
    others = [phrase for phrase in part.predictions if phrase not in exact]
    if set(" ".join(part.targets).split(" ")).isdisjoint(" ".join(others).split(" ")):
        return Sums(*[float(len(part.predictions) - len(others))] * len(NOTHING))
    return summed(likenesses(part.predictions, part.targets), part.targets)


def _summed(chunk: Chunk, part: Part) -> Array:
    """[documents, places of Sums]."""

    def compute(chunk: Chunk) -> Array:
        return np.array(list(map(_document_sums, chunk.part(part))))

    return chunk.memo(("fg sums", part), compute)


@dataclass(frozen=True)
class FGColumn(Column):
    part: Part
    without: str = ""

    def compute(self, chunk: Chunk) -> Array:
        total = _summed(chunk, self.part)[:, PLACES[self.without]]
        counts = chunk[Targets(self.part)], chunk[Predictions(self.part)]
        return mean_score(total, *counts, self.without, BOTH_EMPTY_WHEN_EVALUATING)


@dataclass(frozen=True)
class TokenSum(Column):
    """The summed token precision, recall or F1 of the predictions with their best targets."""

    part: Part
    what: str

    def compute(self, chunk: Chunk) -> Array:
        return _summed(chunk, self.part)[:, Sums._fields.index(self.what)]


class FG(Measure):
    """The mean over all documents, whether they have targets or not."""

    def columns(self, metric: Metric, rules: ScoringRules) -> tuple[Column, ...]:
        return FGColumn(metric.part, metric.measure.partition("-")[2]), Ones()

    def combine(self, sums: Array, metric: Metric, rules: ScoringRules) -> Array:
        return ratio(sums[..., 0], sums[..., 1])


TOKEN_MEASURES = {"TokenP": "precision", "TokenR": "recall", "TokenF1": "f1"}


class TokenLevel(Measure):
    """The mean over all predictions of the corpus; without targets they score 0."""

    def columns(self, metric: Metric, rules: ScoringRules) -> tuple[Column, ...]:
        return TokenSum(metric.part, TOKEN_MEASURES[metric.measure]), Predictions(metric.part)

    def combine(self, sums: Array, metric: Metric, rules: ScoringRules) -> Array:
        return ratio(sums[..., 0], sums[..., 1])


ABLATIONS = {
    "edit": "the edit distance",
    "token": "the token F1",
    "repetition": "the repetition penalty",
    "quantity": "the quantity penalty",
}
MEASURES = (
    FG(
        "FG",
        "fine-grained score (Luo et al. 2021): each prediction is scored by degree against its "
        "best gold phrase, with a repetition and a quantity penalty; 1 for a document with neither "
        "gold nor predictions in the part",
        order=30,
    ),
    *(
        FG(f"FG-{without}", f"FG without {meaning}", order=30)
        for without, meaning in ABLATIONS.items()
    ),
    *(
        TokenLevel(
            name,
            f"token-level {meaning.replace('f1', 'F1')} of each prediction with its best gold "
            "phrase, averaged over predictions",
            order=30,
        )
        for name, meaning in TOKEN_MEASURES.items()
    ),
)
