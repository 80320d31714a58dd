"""Matches made by hand, and the score a metric gives them."""

from __future__ import annotations

from keywright.evaluate import Plan
from keywright.metrics._base import Metric
from keywright.metrics._matches import Matches, Part, Rules, hits
from keywright.protocols import load
from keywright.protocols._base import Protocol

EMPTY = Part([], [], [], 0, 0)


def part(predictions: str, targets: str, repeats: int = 0) -> Part:
    """Phrases joined by `;`, already stemmed and filtered; `repeats` more were thrown away."""
    made = predictions.split(";") if predictions else []
    gold = targets.split(";") if targets else []
    return Part(made, gold, hits(made, gold), len(made) + repeats, len(made))


class WithRules:
    """A protocol of which metrics see the rules only."""

    def __init__(self, **rules: str) -> None:
        self.rules = Rules(**rules)  # type: ignore[arg-type]


def score(metric: str, *documents: Part, **rules: str) -> float:
    """The corpus score of documents that have phrases in the metric's part only."""
    name = Metric.parse(metric)
    sides = {"present": EMPTY, "absent": EMPTY, "everything": EMPTY}
    side = {"all": "everything"}.get(name.part, name.part)
    matches = [Matches(**{**sides, side: document}) for document in documents]
    plan = Plan(WithRules(**rules), [name])  # type: ignore[arg-type]
    return float(plan.scores(plan.rows(matches).sum(axis=0))[metric])


def default_protocol() -> Protocol:
    return load()
