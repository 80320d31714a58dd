"""The model's own loss: negative log-likelihood of the targets, and what its paper adds to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from keywright.data.batch import Batch
from keywright.data.vocab import Lexicon
from keywright.nn.loss import Loss


@dataclass(frozen=True)
class Config:
    pass


def build(config: Config, vocabulary: Lexicon) -> Callable[[Any, Batch], Loss]:
    def objective(model: Any, batch: Batch) -> Loss:
        loss: Loss = model.loss(batch)
        return loss

    return objective
