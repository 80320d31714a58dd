"""The state of a run, the status that watchers receive, and the outcome."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec

from keywright.training.stopping import Tracker


class Window(msgspec.Struct):
    """Sums since the last line of the log (see `nn.loss.Loss`)."""

    loss: float = 0.0
    divisor: float = 0.0
    parts: dict[str, float] = msgspec.field(default_factory=dict)  # of this process only
    part_divisor: float = 0.0  # of this process only


class State(msgspec.Struct):
    """The position after a whole number of updates: everything in a checkpoint but tensors."""

    stage: int = 0
    epoch: int = 0  # of the stage
    batch: int = 0  # the next one of the epoch
    update: int = 0  # of the stage
    updates: int = 0  # of the run
    documents: int = 0  # read by the run, counting repetitions
    seconds: float = 0.0  # of training, without validation
    log_size: int = 0  # bytes of metrics.jsonl that belong to this state
    tracker: Tracker = msgspec.field(default_factory=Tracker)
    window: Window = msgspec.field(default_factory=Window)
    finished: bool = False

    def advance(self, batches: int, documents: int) -> None:
        """Count one more update; `batches` is the length of an epoch."""
        self.update += 1
        self.updates += 1
        self.documents += documents
        self.batch += 1
        if self.batch == batches:
            self.epoch, self.batch = self.epoch + 1, 0

    def next_stage(self) -> None:
        self.stage += 1
        self.epoch = self.batch = self.update = 0
        self.tracker, self.window = Tracker(), Window()


class Speed:
    """The mean speed of the latest updates, so that earlier pauses have no influence."""

    def __init__(self) -> None:
        self._recent: deque[tuple[int, float]] = deque(maxlen=50)

    def add(self, documents: int, seconds: float) -> None:
        self._recent.append((documents, seconds))

    @property
    def documents_per_second(self) -> float:
        return sum(documents for documents, _ in self._recent) / max(self._seconds, 1e-9)

    @property
    def seconds_per_update(self) -> float:
        return self._seconds / max(1, len(self._recent))

    @property
    def _seconds(self) -> float:
        return sum(seconds for _, seconds in self._recent)


@dataclass(frozen=True)
class Status:
    """What a watcher receives after every update and every validation."""

    stage: int
    stages: int
    epoch: int
    update: int  # of the stage
    updates: int  # the maximum of the stage
    loss: float
    documents_per_second: float
    seconds_left: float  # of the stage, at the current speed and without early stopping
    validation: dict[str, float] | None = None
    best: bool = False
    report: Mapping[str, float] = field(default_factory=dict)  # the objective's latest values
    warning: str | None = None  # what the objective finds wrong with them, once


@dataclass(frozen=True)
class Outcome:
    reason: Literal["finished", "minutes", "signal"]
    folder: Path
    updates: int
    signal: int | None = None
