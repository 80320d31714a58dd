"""How much the choice of a measure matters: micro and macro averages, F1@M, F1@5 and F1@O.

After Thomas and Vajjala (2024), section 6.1, tables 5 and 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keywright.analysis.systems import Panel
from keywright.evaluate import Plan
from keywright.matches import SPLIT_PARTS, Part
from keywright.metric import Array, Metric

CUTOFFS = ("M", "5", "O")


@dataclass(frozen=True)
class Averages:
    """One system's macro and micro value of a measure (table 5)."""

    system: str
    part: Part
    measure: str
    macro: float
    micro: float

    @property
    def difference(self) -> float:
        return self.macro - self.micro


@dataclass(frozen=True)
class Cutoffs:
    """One system's F1 at several cut-offs (table 6)."""

    system: str
    part: Part
    average: str
    f1: dict[str, float]


def macro_and_micro(panel: Panel, measures: Sequence[str] = ("F1@M",)) -> list[Averages]:
    """Table 5 for every system; a measure is a name such as `F1@M` or `R@10`."""
    names = [
        f"{part}.{kind}{m}" for part in SPLIT_PARTS for m in measures for kind in ("", "micro.")
    ]
    scores = panel_scores(panel, names)
    return [
        Averages(
            system,
            part,
            measure,
            scores[system][f"{part}.{measure}"],
            scores[system][f"{part}.micro.{measure}"],
        )
        for system in panel.systems
        for part in SPLIT_PARTS
        for measure in measures
    ]


def cutoffs(panel: Panel, at: Sequence[str] = CUTOFFS, average: str = "macro") -> list[Cutoffs]:
    """Table 6 for every system."""
    micro = "micro." if average == "micro" else ""
    names = {(part, cut): f"{part}.{micro}F1@{cut}" for part in SPLIT_PARTS for cut in at}
    scores = panel_scores(panel, list(names.values()))
    return [
        Cutoffs(system, part, average, {cut: scores[system][names[part, cut]] for cut in at})
        for system in panel.systems
        for part in SPLIT_PARTS
    ]


def panel_scores(panel: Panel, metrics: Sequence[str]) -> dict[str, dict[str, float]]:
    """The metrics of each system, as `keywright evaluate` computes them."""
    plan = Plan(panel.protocol, [Metric.parse(name) for name in metrics])
    found = {}
    for system, matches in panel.matches.items():
        sums: Array = np.asarray(plan.rows(matches).sum(axis=0))
        found[system] = {name: float(score) for name, score in plan.scores(sums).items()}
    return found
