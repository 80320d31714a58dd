"""Matches made by hand, and the score that a metric gives them."""

from __future__ import annotations

from keywright.evaluate import Plan
from keywright.matches import Matches, PartMatches, ScoringRules
from keywright.metric import Metric
from keywright.protocol import Protocol
from keywright.protocols import load

EMPTY = PartMatches()


def part(predictions: str, targets: str, repeats: int = 0) -> PartMatches:
    """Phrases joined by `;`, already stemmed and filtered; `repeats` more were dropped."""
    made = predictions.split(";") if predictions else []
    gold = targets.split(";") if targets else []
    found = PartMatches()
    found.predictions, found.targets = made, gold
    found.hits = [rank for rank, phrase in enumerate(made) if phrase in gold]
    found.produced, found.unique = len(made) + repeats, len(made)
    return found


class WithRules:
    """A protocol that has only rules, which is all that metrics use."""

    def __init__(self, **rules: str) -> None:
        self.rules = ScoringRules(**rules)  # type: ignore[arg-type]


def score(metric: str, *documents: PartMatches, **rules: str) -> float:
    """The corpus score of documents that have phrases only in the part of the metric."""
    name = Metric.parse(metric)
    sides = {"present": EMPTY, "absent": EMPTY, "everything": EMPTY}
    side = {"all": "everything"}.get(name.part, name.part)
    matches = [Matches(**{**sides, side: document}) for document in documents]
    plan = Plan(WithRules(**rules), [name])  # type: ignore[arg-type]
    return float(plan.scores(plan.rows(matches).sum(axis=0))[metric])


def default_protocol() -> Protocol:
    return load()
