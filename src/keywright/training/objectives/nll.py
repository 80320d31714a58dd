"""The model's own loss: negative log-likelihood of the targets, and what its paper adds to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from keywright.config import Fraction
from keywright.data.batch import Batch
from keywright.data.vocab import Lexicon
from keywright.nn.loss import Loss


@dataclass(frozen=True)
class Config:
    label_smoothing: Fraction = 0.0  # in training only: validation asks what the model believes


def build(config: Config, vocabulary: Lexicon) -> Callable[[Any, Batch], Loss]:
    def objective(model: Any, batch: Batch) -> Loss:
        smoothing = config.label_smoothing if model.training else 0.0
        loss: Loss = model.loss(batch, smoothing)
        return loss

    return objective
