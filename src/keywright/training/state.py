"""Where a run stands, what a watcher is told of it, and how it ended."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from keywright.training.stopping import Tracker


class Window(msgspec.Struct):
    """Sums since the last line of the log."""

    loss: float = 0.0
    tokens: float = 0.0
    parts: dict[str, float] = msgspec.field(default_factory=dict)
    part_tokens: float = 0.0  # of this process alone, whose parts they are


class State(msgspec.Struct):
    """After a whole number of updates; all that a checkpoint has to say besides tensors."""

    stage: int = 0
    epoch: int = 0  # of the stage
    batch: int = 0  # the next one of the epoch
    update: int = 0  # of the stage
    updates: int = 0  # of the run
    documents: int = 0  # read by the run, with repetition
    seconds: float = 0.0  # of training, without validation
    log_size: int = 0  # bytes of metrics.jsonl that belong to this state
    tracker: Tracker = msgspec.field(default_factory=Tracker)
    window: Window = msgspec.field(default_factory=Window)
    finished: bool = False

    def advance(self, batches: int, documents: int) -> None:
        """One more update, of an epoch that has so many batches."""
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
    """A mean over the latest updates, so that a pause is forgotten."""

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
    """What a watcher is told after every update and every validation."""

    stage: int
    stages: int
    epoch: int
    update: int  # of the stage
    updates: int  # that the stage has at most
    loss: float
    documents_per_second: float
    seconds_left: float  # of the stage, as things go and without early stopping
    validation: dict[str, float] | None = None
    best: bool = False


@dataclass(frozen=True)
class Outcome:
    reason: Literal["finished", "minutes", "signal"]
    folder: Path
    updates: int
    signal: int | None = None
