"""The model's own loss: the negative log-likelihood of the targets, plus what its paper adds."""

from __future__ import annotations

from dataclasses import dataclass

from keywright.config import Fraction
from keywright.data.batch import Batch
from keywright.nn.loss import Loss
from keywright.nn.model import Model
from keywright.training.objective import Context, Objective, Position


@dataclass(frozen=True)
class Config:
    label_smoothing: Fraction = 0.0  # in training only; the validation loss is not smoothed


class Likelihood(Objective):
    def __init__(self, config: Config):
        super().__init__()
        self._config = config

    def loss(self, model: Model, batch: Batch, position: Position) -> Loss:
        return model.loss(batch, self._config.label_smoothing)


def build(config: Config, context: Context) -> Likelihood:
    return Likelihood(config)
