"""Does a system know how many phrases a document has? Numbers of predicted and gold phrases."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from keywright.analysis.systems import Panel
from keywright.matches import Part


@dataclass(frozen=True)
class Numbers:
    """How many phrases one system predicts per document, after the protocol's filters.

    `table` has (gold, predicted, documents) for every pair of numbers that occurs.
    `correlation` is Pearson's, None if either number never varies.
    """

    system: str
    part: Part
    predicted: float
    gold: float
    mean_absolute_error: float
    more: int
    """Documents with more predictions than gold."""
    equal: int
    fewer: int
    correlation: float | None
    table: tuple[tuple[int, int, int], ...]


def numbers(panel: Panel, system: str, part: Part = "all") -> Numbers:
    made = np.array([len(match.part(part).predictions) for match in panel.matches[system]])
    gold = np.array([len(match.part(part).targets) for match in panel.matches[system]])
    together = Counter(zip(gold.tolist(), made.tolist(), strict=True))
    varied = np.ptp(made) > 0 and np.ptp(gold) > 0
    return Numbers(
        system=system,
        part=part,
        predicted=float(made.mean()),
        gold=float(gold.mean()),
        mean_absolute_error=float(np.abs(made - gold).mean()),
        more=int((made > gold).sum()),
        equal=int((made == gold).sum()),
        fewer=int((made < gold).sum()),
        correlation=float(np.corrcoef(made, gold)[0, 1]) if varied else None,
        table=tuple((g, m, n) for (g, m), n in sorted(together.items())),
    )
