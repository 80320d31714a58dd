"""The best validation so far, and what follows from there being none better for a while."""

from __future__ import annotations

import msgspec

from keywright.config import Stage


class Tracker(msgspec.Struct):
    """Scores of one stage, higher is better; saved with every checkpoint."""

    best: float | None = None
    since_best: int = 0  # validations
    since_change: int = 0  # validations since the best or the last cut of the learning rate
    rate: float = 1.0  # what plateaus have made of the learning rate

    def add(self, score: float, stage: Stage) -> bool:
        """Take note of a validation's score; whether it is the best so far."""
        if self.best is None or score > self.best:
            self.best, self.since_best, self.since_change = score, 0, 0
            return True
        self.since_best += 1
        self.since_change += 1
        if stage.schedule == "plateau" and self.since_change > stage.plateau_patience:
            self.rate *= stage.plateau_factor
            self.since_change = 0
        return False

    def exhausted(self, stage: Stage) -> bool:
        return stage.patience is not None and self.since_best >= stage.patience
