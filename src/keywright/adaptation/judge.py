"""Is an adapted model better? Scores before and after on the same documents, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from keywright.analysis.significance import Design, compare
from keywright.types import Document, Prediction

METRICS = ("present.F1@5", "present.F1@M", "absent.F1@M", "all.F1@M")
RESAMPLES = 2000
BEFORE, AFTER = "before", "after"


@dataclass(frozen=True)
class Change:
    """A metric before and after, from 0 to 1, with the 95% interval of the difference."""

    metric: str
    before: float
    after: float
    interval: tuple[float, float]

    @property
    def gained(self) -> bool:
        return self.interval[0] > 0

    @property
    def lost(self) -> bool:
        return self.interval[1] < 0

    def __str__(self) -> str:
        low, high = (100 * end for end in self.interval)
        difference = 100 * (self.after - self.before)
        word = "gain" if self.gained else "loss" if self.lost else "no significant change"
        return (
            f"{self.metric:<13} {100 * self.before:5.1f} -> {100 * self.after:5.1f}  "
            f"{difference:+.1f} [{low:+.1f}, {high:+.1f}]  {word}"
        )


@dataclass(frozen=True)
class Verdict:
    """All changes, on some number of documents."""

    documents: int
    changes: tuple[Change, ...]

    def lines(self) -> list[str]:
        """The changes and what follows from them, for people."""
        return [
            f"cross-validated on {self.documents:,} documents, before -> after, difference with "
            "its 95% interval:",
            *map(str, self.changes),
            self.conclusion,
        ]

    @property
    def conclusion(self) -> str:
        gained = [change.metric for change in self.changes if change.gained]
        lost = [change.metric for change in self.changes if change.lost]
        better = f"better than before: {', '.join(gained)}" if gained else ""
        if lost:
            worse = f"worse than before: {', '.join(lost)}; use the adapted model with care"
            return f"{better}; {worse}" if better else worse
        if not gained:
            return (
                "no gain: every interval contains 0; give more documents, or keep the model that "
                "you had"
            )
        return better

    def table(self) -> dict[str, Any]:
        """The same for programs."""
        return {
            change.metric: {
                "before": change.before,
                "after": change.after,
                "interval": list(change.interval),
            }
            for change in self.changes
        }


def judge(
    documents: Sequence[Document], before: Sequence[Prediction], after: Sequence[Prediction]
) -> Verdict:
    """The verdict on predictions, in the order of the documents."""
    design = Design(tests=("bootstrap",), resamples=RESAMPLES, correction="none")
    systems = {AFTER: after, BEFORE: before}
    found = compare(documents, systems, metrics=METRICS, design=design, match="line")
    changes = [
        Change(change.metric, change.score_b, change.score_a, change.interval)
        for change in found.differences
    ]
    return Verdict(len(documents), tuple(changes))
