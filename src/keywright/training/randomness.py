"""Seeds derived from the position in a run.

Before every update the random generators are seeded with (seed, stage, update, process), so the
position in a checkpoint determines the state of every generator: a resumed run draws the same
numbers, and validation may draw any numbers without changing the training.
"""

from __future__ import annotations

import random

import numpy as np
import torch


def derive(*numbers: int) -> int:
    """A seed that is a function of the numbers. Trailing zeros make no difference."""
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])


def seed_everything(seed: int) -> None:
    torch.manual_seed(seed)
    np.random.seed(seed)
    random.seed(seed)
