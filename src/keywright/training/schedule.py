"""Learning rate schedules: a factor of the base learning rate for every update."""

from __future__ import annotations

import math

from keywright.config import Stage


def factor(stage: Stage, update: int, total: int) -> float:
    """The factor for an update (counted from 1) of a stage with at most `total` updates.

    The plateau schedule is constant here, because it depends on scores (see `stopping`).
    """
    if stage.schedule == "noam":
        # Vaswani et al. (2017), eq. 3, scaled so that `learning_rate` is the peak.
        return min(update / stage.warmup, math.sqrt(stage.warmup / update))
    if update <= stage.warmup:
        return math.pow(update / stage.warmup, stage.warmup_power)
    done = (update - stage.warmup) / max(1, total - stage.warmup)
    match stage.schedule:
        case "linear":
            return max(0.0, 1 - done)
        case "cosine":
            return 0.5 * (1 + math.cos(math.pi * min(1.0, done)))
        case _:
            return 1.0
