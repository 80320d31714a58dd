"""The best validation score so far: early stopping, and the plateau schedule."""

from __future__ import annotations

import msgspec

from keywright.config import Stage


class Tracker(msgspec.Struct):
    """The scores of one stage (higher is better); part of every checkpoint."""

    best: float | None = None
    since_best: int = 0  # validations
    since_change: int = 0  # validations since the best or the last reduction of the learning rate
    rate: float = 1.0  # the factor of the learning rate after all reductions so far

    def add(self, score: float, stage: Stage) -> bool:
        """Record the score of a validation; returns whether it is the best so far."""
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
