"""How scores are distributed over documents and phrases, not only their averages.

After Luo et al. (2021), figure 3: FG by document, token F1 by predicted phrase, in five bins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keywright.analysis.systems import Panel
from keywright.matches import Part
from keywright.metrics import fg

BINS = 5
ROUNDING = 1e-9


@dataclass(frozen=True)
class Distribution:
    """Values in [0, 1] in bins of equal width; 1 is in the last bin, and in `perfect` too."""

    system: str
    part: Part
    what: str
    counts: tuple[int, ...]
    perfect: int
    mean: float

    @property
    def total(self) -> int:
        return sum(self.counts)

    @property
    def shares(self) -> tuple[float, ...]:
        """The counts divided by their total; all 0 if there is nothing to count."""
        return tuple(count / max(1, self.total) for count in self.counts)


def fine_grained(panel: Panel, system: str, part: Part = "present") -> Distribution:
    """FG of every document (figure 3a).

    A document with neither gold nor predictions in the part says nothing about quality and is left
    out.
    """
    scores = []
    for match in panel.matches[system]:
        phrases = match.part(part)
        if phrases.targets or phrases.predictions:
            found = fg.likenesses(phrases.predictions, phrases.targets)
            scores.append(
                fg.fine_grained(found, phrases.targets, predicted=len(phrases.predictions))
            )
    return distribution(scores, system, part, "FG")


def token_f1(panel: Panel, system: str, part: Part = "present") -> Distribution:
    """Token F1 of every predicted phrase with its best gold phrase (figure 3b)."""
    scores: list[float] = []
    for match in panel.matches[system]:
        phrases = match.part(part)
        found = fg.likenesses(phrases.predictions, phrases.targets)
        scores += [likeness.best.f1 for likeness in found] or [0.0] * len(phrases.predictions)
    return distribution(scores, system, part, "TokenF1")


def distribution(values: Sequence[float], system: str, part: Part, what: str) -> Distribution:
    # Scores such as 3/5 are on an edge; rounding must not push them into the bin below.
    places = np.minimum(np.array(values) * BINS + ROUNDING, BINS - 1).astype(np.int64)
    return Distribution(
        system=system,
        part=part,
        what=what,
        counts=tuple(np.bincount(places, minlength=BINS).tolist()),
        perfect=sum(value >= 1.0 - ROUNDING for value in values),
        mean=float(np.mean(values)) if values else 0.0,
    )
