"""Seeds that follow from where a run stands.

Everything random is drawn after seeding with (seed, stage, update, process), so the position in a
checkpoint *is* the state of every random generator: a resumed run draws what it would have drawn,
and validation, however it draws, disturbs nothing.
"""

from __future__ import annotations

import random

import numpy as np
import torch


def derive(*numbers: int) -> int:
    """A seed that follows from numbers, and from no others (but for zeros at their end)."""
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])


def seed_everything(seed: int) -> None:
    torch.manual_seed(seed)
    np.random.seed(seed)
    random.seed(seed)
