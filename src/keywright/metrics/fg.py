"""The fine-grained score FG and its token-level companions (Luo et al. 2021, section 3.3).

A predicted phrase is scored against its best target by edit distance and token overlap, a
repetition penalty rejects phrases that use up the targets' words, and a quantity penalty compares
the numbers of phrases. `FG-edit`, `FG-token`, `FG-repetition` and `FG-quantity` leave one part out
(the paper's table 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
    Targets,
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
    both: float  # mean of `edit` and `f1`


NOTHING_SHARED = Pair(0.0, 0.0, 0.0, 0.0, 0.0)  # every word is edited, too
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
    """Each prediction against its targets, none without targets.

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
    """A prediction that shares a word with a target; a target without one can only score less."""
    words = set(tokens)
    pairs = [compare(tokens, target) for target in gold if not words.isdisjoint(target)]
    if len(pairs) == 1:
        best = pairs[0]
        return Likeness(tokens, best.both, best.edit, best.f1, best)
    best = max(pairs, key=lambda pair: pair.both)  # the first one on ties
    edit, f1 = max(pair.edit for pair in pairs), max(pair.f1 for pair in pairs)
    return Likeness(tokens, best.both, edit, f1, best)


class Sums(NamedTuple):
    """The scores of a document's predictions, summed, with all parts and without some.

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
# FG without a part -> its place in Sums. The quantity penalty is no matter of sums.
PLACES = {"": 0, "edit": 1, "token": 2, "repetition": 3, "quantity": 0}


def summed(found: Sequence[Likeness], targets: Sequence[str]) -> Sums:
    found = [one for one in found if one.both]  # the others score 0 in every way
    both = _above_threshold([one.both for one in found])
    edit = _above_threshold([one.edit for one in found])
    f1 = _above_threshold([one.f1 for one in found])
    unpenalised = sum(both)
    if _any_repetition(found, targets):
        both, edit, f1 = (_reject_repetition(found, kind, targets) for kind in (both, edit, f1))
    return Sums(
        sum(both),
        sum(f1),
        sum(edit),
        unpenalised,
        sum([one.best.precision for one in found]),
        sum([one.best.recall for one in found]),
        sum([one.best.f1 for one in found]),
    )


def _above_threshold(scores: list[float]) -> list[float]:
    return [score if score > SMALLEST_SCORE else 0.0 for score in scores]


def _supply(targets: Sequence[str]) -> dict[str, int]:
    """How often the targets together have each word."""
    supply: dict[str, int] = {}
    for token in " ".join(targets).split(" "):
        supply[token] = supply.get(token, 0) + 1
    return supply


def _any_repetition(found: Sequence[Likeness], targets: Sequence[str]) -> bool:
    """Whether the predictions use some target word more often than the targets have it.

    Most documents' do not, and then nothing can be rejected.
    """
    left = _supply(targets)
    for one in found:
        for token in one.tokens:
            if token in left:
                if not left[token]:
                    return True
                left[token] -= 1
    return False


def _reject_repetition(
    found: Sequence[Likeness], scores: list[float], targets: Sequence[str]
) -> list[float]:
    """Zero the phrases that use a target word more often than all targets together do.

    Best phrases choose first; among equals the release visits the later one first. What a rejected
    phrase used is given back. Phrases that score 0 come last and can take nothing from others.
    """
    order = [index for index in range(len(scores) - 1, -1, -1) if scores[index] > 0.0]
    order.sort(key=scores.__getitem__, reverse=True)  # stable: the later phrase stays first
    left = _supply(targets)
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


def fine_grained(
    found: Sequence[Likeness],
    targets: Sequence[str],
    predicted: int,
    without: str = "",
    both_empty: float = BOTH_EMPTY_WHEN_EVALUATING,
) -> float:
    """FG of one document (equation 7, algorithm 1): likenesses, targets, how many predictions."""
    total = np.array([summed(found, targets)[PLACES[without]]])
    counts = np.array([float(len(targets))]), np.array([float(predicted)])
    return float(_score(total, *counts, without, both_empty)[0])


def _score(
    total: Array, targets: Array, predicted: Array, without: str, both_empty: float
) -> Array:
    """Summed scores of documents [documents] to FG; a document without targets sums up to 0."""
    mean = ratio(total, predicted)
    if without != "quantity":
        mean *= 1.0 - ratio((targets - predicted) ** 2, np.maximum(targets, predicted) ** 2)
    return np.where(targets + predicted == 0, both_empty, mean)


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
    found = likenesses(made, gold)
    return fine_grained(found, gold, len(made), both_empty=BOTH_EMPTY_AS_REWARD)


def _document_sums(part: Part) -> Sums:
    """`summed`, at once where predictions equal a target or share no word with any.

    Predictions are free of repeats, so equal ones cannot use up a target's words either.
    """
    if not part.predictions or not part.targets:
        return NOTHING
    exact = set(part.targets)
    others = [phrase for phrase in part.predictions if phrase not in exact]
    if set(" ".join(part.targets).split(" ")).isdisjoint(" ".join(others).split(" ")):
        return Sums(*[float(len(part.predictions) - len(others))] * len(NOTHING))
    return summed(likenesses(part.predictions, part.targets), part.targets)


def _summed(chunk: Chunk, part: str) -> Array:
    """[documents, places of Sums]."""

    def compute(chunk: Chunk) -> Array:
        return np.array(list(map(_document_sums, chunk.part(part))))

    return chunk.memo(("fg sums", part), compute)


@dataclass(frozen=True)
class FGColumn(Column):
    part: str
    without: str = ""

    def compute(self, chunk: Chunk) -> Array:
        total = _summed(chunk, self.part)[:, PLACES[self.without]]
        counts = chunk[Targets(self.part)], chunk[Predictions(self.part)]
        return _score(total, *counts, self.without, BOTH_EMPTY_WHEN_EVALUATING)


@dataclass(frozen=True)
class TokenSum(Column):
    """Summed token precision, recall or F1 of the predictions with their best targets."""

    part: str
    what: str

    def compute(self, chunk: Chunk) -> Array:
        return _summed(chunk, self.part)[:, Sums._fields.index(self.what)]


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
