"""The contract of a training objective: what is minimised, and what is reported on the way.

A file of `keywright.training.objectives` exposes

- `Config`, a frozen dataclass with the settings of a stage's `objective`;
- `build(config, context)`, which returns an `Objective`. It raises `ConfigError` if the objective
  does not fit the run; all stages are built once before a run starts.

`objectives/nll.py` is the smallest one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from keywright import protocols
from keywright.data.batch import Batch
from keywright.data.targets import Paradigm, Targets
from keywright.lexicon import Lexicon
from keywright.nn.loss import Loss
from keywright.nn.model import Model
from keywright.protocol import Protocol

_TALLY = "tally/"


@dataclass(frozen=True)
class Context:
    """What an objective is built with."""

    vocabulary: Lexicon
    targets: Targets  # how gold keyphrases become target sequences
    protocol_name: str  # of `[evaluate]`
    seed: int  # of the run
    max_source: int
    path: str  # of the objective in the config, such as `train.stage[0].objective`, for errors

    @property
    def paradigm(self) -> Paradigm:
        return self.targets.paradigm

    @cached_property
    def protocol(self) -> Protocol:
        """The protocol of `[evaluate]`, loaded when first used."""
        return protocols.load(self.protocol_name)


@dataclass(frozen=True)
class Position:
    """Which update of a run a loss belongs to.

    Random numbers that follow from the run's seed, the position and a document are new in every
    update, the same after a resume, and independent of how a batch is divided among processes.
    """

    stage: int
    update: int  # of the stage, counted from 0


class Tally:
    """Means of quantities since the last report, which survive a resume."""

    def __init__(self) -> None:
        self._sums: dict[str, tuple[float, float]] = {}

    def add(self, name: str, total: float, count: float) -> None:
        """Add `count` values whose sum is `total`."""
        before, counted = self._sums.get(name, (0.0, 0.0))
        self._sums[name] = (before + total, counted + count)

    def report(self) -> dict[str, float]:
        """The means by name, which are then forgotten."""
        means = {name: total / count for name, (total, count) in self._sums.items() if count}
        self._sums = {}
        return means

    def state(self) -> dict[str, Tensor]:
        return {
            f"{_TALLY}{name}": torch.tensor(sums, dtype=torch.float64)
            for name, sums in self._sums.items()
        }

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Continue from what `state` returned; other entries are ignored."""
        for name, sums in state.items():
            if name.startswith(_TALLY):
                total, count = sums.tolist()
                self._sums[name.removeprefix(_TALLY)] = (total, count)


class Objective(ABC):
    """What a stage minimises.

    With several processes, each has an objective of its own and sees its share of every batch.
    Only the main process reports and saves.
    """

    def __init__(self) -> None:
        self.tally = Tally()

    @abstractmethod
    def loss(self, model: Model, batch: Batch, position: Position) -> Loss:
        """The differentiable loss of a batch, or of a piece of it; the model is in training mode.

        Torch's random generators are seeded with seed, position and process before every update.
        """

    def validation_loss(self, model: Model, batch: Batch) -> Loss:
        """The loss of validation documents, by which `select = "loss"` chooses the best weights.

        The model is in evaluation mode, and gradients are disabled. By default it is the model's
        own loss, without label smoothing.
        """
        return model.loss(batch)

    def report(self) -> Mapping[str, float]:
        """Values for the log since the last report; by default the means in `tally`."""
        return self.tally.report()

    def warning(self, report: Mapping[str, float]) -> str | None:
        """What the user should know about these values of `report` at once; None if nothing."""
        return None

    def state(self) -> dict[str, Tensor]:
        """What a checkpoint must contain to continue the stage, between any two updates."""
        return self.tally.state()

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Continue from what `state` returned; not called if that was empty."""
        self.tally.restore(state)
