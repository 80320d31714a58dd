"""The training loop.

A batch is divided into pieces, one for each process and accumulation step. Sums of losses are
differentiated, and the gradient is divided once, by the divisor of the whole batch (see
`nn.loss.Loss`): how the batch was divided makes no difference.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray

from keywright import checkpoint, runs
from keywright import config as configs
from keywright.checkpoint import Checkpoint
from keywright.config import Config, Stage
from keywright.data.batch import Augment, Batch, Batches
from keywright.data.kpdrop import KPDrop
from keywright.errors import KeywrightError
from keywright.nn.denormals import tuned
from keywright.nn.loss import Loss
from keywright.nn.model import Model
from keywright.training import initial, optimiser, schedule, validate
from keywright.training import setup as setups
from keywright.training.interrupt import Interruption
from keywright.training.log import Log
from keywright.training.objective import Objective, Position
from keywright.training.prefetch import ahead
from keywright.training.processes import Processes
from keywright.training.randomness import derive, seed_everything
from keywright.training.separate import SeparateStep
from keywright.training.setup import Setup
from keywright.training.state import Outcome, Speed, State, Status, Window
from keywright.types import Document

Watch = Callable[[Status], None]


class DivergedError(KeywrightError):
    """The gradient is not finite."""


@dataclass(frozen=True)
class Work:
    """The objects of the current stage."""

    stage: Stage
    batches: Batches
    valid: Batches | None
    objective: Objective
    optimiser: torch.optim.Optimizer
    updates: int  # the maximum

    @property
    def validate_every(self) -> int:
        return self.stage.validate_every or len(self.batches)


def train(
    config: Config, folder: Path, *, resume: bool = False, watch: Watch = lambda status: None
) -> Outcome:
    """Train the model of a config in a run folder, from the start or from where it stopped.

    With `resume`, a run that does not exist yet is started, so that the same command can be
    repeated until training is finished.
    """
    interruption = Interruption(config.train.minutes)
    processes = Processes()
    config = setups.check(config)
    begun = resume and (folder / runs.MANIFEST).exists()
    if begun:
        runs.require_same(config, runs.resolve(runs.read(folder)[0]), folder)
        done = _state(folder)
        if done.finished:
            return Outcome("finished", folder, done.updates)
    setup = setups.set_up(config, folder, begun, processes)
    lock = runs.locked(folder) if processes.main else nullcontext()
    with lock, interruption, tuned(config.train.threads):
        return Trainer(setup, processes, interruption, watch).run()


class Trainer:
    def __init__(
        self, setup: Setup, processes: Processes, interruption: Interruption, watch: Watch
    ):
        self.setup = setup
        self.config = setup.config
        self.processes = processes
        self.interruption = interruption
        self.watch: Watch = watch if processes.main else lambda status: None
        self.autocast = _autocast(self.config.train.precision, processes.device)
        seed_everything(self.config.train.seed)
        model = runs.build_model(self.config, setup.vocabulary, setup.index)
        self.model: Model = model.to(processes.device)
        self.separate = SeparateStep(self.model.separate_parameters())
        self.state = State()
        self.resumed = self._load()
        if self.resumed is None:
            self.model.initialise()  # a checkpoint has its own weights
        self.log: Log | None = None
        if processes.main:
            self.log = Log(
                setup.folder / runs.METRICS,
                setup.folder / runs.TENSORBOARD,
                self.state.log_size,
                self.state.updates,
            )
        self.speed = Speed()
        self.report: Mapping[str, float] = {}
        self.saved = time.monotonic()

    def run(self) -> Outcome:
        try:
            while not self.state.finished:
                work = self._begin_stage()
                if not self._train_stage(work):
                    self._save(work)
                    return self._stopped()
                self._end_stage(work)
        finally:
            if self.log is not None:
                self.log.close()
        return Outcome("finished", self.setup.folder, self.state.updates)

    def _stopped(self) -> Outcome:
        number = self.interruption.signal
        return Outcome(
            "minutes" if number is None else "signal",
            self.setup.folder,
            self.state.updates,
            number,
        )

    # Stages

    def _begin_stage(self) -> Work:
        number = self.state.stage
        self.report = {}
        stage = self.config.train.stage[number]
        path = f"train.stage[{number}]"
        batches = self._batches(self.setup.training, stage, augmented=True)
        work = Work(
            stage=stage,
            batches=batches,
            valid=self._batches(self.setup.valid, stage, augmented=False)
            if self.setup.valid
            else None,
            objective=setups.build_objective(
                self.config, number, self.setup.vocabulary, self.setup.targets
            ),
            optimiser=optimiser.build(self.model, stage, path),
            updates=_updates(stage, len(batches)),
        )
        if self.resumed is not None:
            optimiser.restore(work.optimiser, self.model, self.resumed.optimiser)
            if self.resumed.objective:
                work.objective.restore(self.resumed.objective)
            self.resumed = None
        if stage.initial is not None and not self.state.update:
            initial.load_weights(self.model, stage.initial, f"{path}.initial")
        return work

    def _train_stage(self, work: Work) -> bool:
        """Returns whether the stage is complete; if not, the run was asked to stop."""
        state = self.state
        starts_from_weights = state.stage > 0 or work.stage.initial is not None
        if starts_from_weights and not state.update and state.tracker.best is None:
            self._validate(work)  # the stage has to beat what it starts from
        while not self._is_over(work):
            began = time.monotonic()
            for pieces in self._pieces(work):
                stop = self._update(work, pieces, began)
                if state.update % work.validate_every == 0 or state.update == work.updates:
                    self._validate(work)
                if self._is_over(work):
                    break
                if stop:
                    return False
                self._save_if_due(work)
                began = time.monotonic()
        return True

    def _is_over(self, work: Work) -> bool:
        return self.state.update >= work.updates or self.state.tracker.exhausted(work.stage)

    def _end_stage(self, work: Work) -> None:
        """The next stage starts from the best weights of this one."""
        if self.state.stage + 1 == len(self.config.train.stage):
            self.state.finished = True
            self._save(work)
            return
        self.processes.wait()  # for the main process to have written the best weights
        if work.valid is not None:
            path = self.setup.folder / runs.BEST
            saved = checkpoint.load(path, self.setup.vocabulary_hash)
            checkpoint.restore_model(self.model, saved.model, path)
        self.state.next_stage()
        self._save(None)

    def _batches(self, documents: Sequence[Document], stage: Stage, augmented: bool) -> Batches:
        return Batches(
            documents,
            self.setup.vocabulary,
            self.setup.targets,
            size=stage.batch_size,
            bucket=self.config.train.bucket,
            max_source=self.config.data.max_source,
            seed=derive(self.config.train.seed, self.state.stage),
            augment=_augment(self.config.data.kpdrop) if augmented else None,
            unlabelled=augmented and self.model.unlabelled,
        )

    def _pieces(self, work: Work) -> Iterator[list[Batch | None]]:
        """For each remaining update of the epoch, the pieces of its batch for this process."""
        epoch = self.state.epoch
        rank, count = self.processes.rank, self.processes.count

        def build(indices: NDArray[np.int64]) -> list[Batch | None]:
            # The documents of a batch are sorted by length, so pieces need little padding.
            pieces = np.array_split(indices, work.stage.accumulate * count)[rank::count]
            return [work.batches.build(epoch, piece) if len(piece) else None for piece in pieces]

        return ahead(build, work.batches.plan(epoch)[self.state.batch :])

    # Updates

    def _update(self, work: Work, pieces: Iterable[Batch | None], began: float) -> bool:
        """One step of the optimiser; returns whether any process was asked to stop."""
        state = self.state
        seed_everything(
            derive(self.config.train.seed, state.stage, state.update, self.processes.rank)
        )
        self.model.begin_update(state.update / work.updates)
        total, divisor, documents = self._differentiate(work, pieces)
        stop = float(self.interruption.requested)
        total, divisor, documents, stop, separate = self.processes.sum(
            [total, divisor, documents, stop, float(self.separate.due)]
        )
        state.advance(len(work.batches), int(documents))
        norm, rate = self._step(work, divisor)
        if separate:
            self.separate.take(work.optimiser, self.processes, divisor, work.stage.clip)
        state.window.loss += total
        state.window.divisor += divisor
        seconds = time.monotonic() - began
        state.seconds += seconds
        self.speed.add(int(documents), seconds)
        if state.updates % self.config.train.log_every == 0:
            self._log_window(work, norm, rate)
        self.watch(self._status(work, total / divisor))
        return stop > 0

    def _differentiate(
        self, work: Work, pieces: Iterable[Batch | None]
    ) -> tuple[float, float, float]:
        """Compute this process's gradient; returns total and divisor of its loss, and documents."""
        total = divisor = documents = 0.0
        position = Position(self.state.stage, self.state.update)
        self.model.train()
        work.optimiser.zero_grad(set_to_none=True)
        for piece in pieces:
            if piece is None:
                continue
            with self.autocast:
                loss = work.objective.loss(self.model, piece.to(self.processes.device), position)
            if loss.separate is not None:
                self.separate.add(loss.separate)
            loss.total.backward()  # type: ignore[no-untyped-call]
            self._note_parts(loss)
            total += float(loss.total.detach())
            divisor += float(loss.divisor)
            documents += len(piece)
        return total, divisor, documents

    def _step(self, work: Work, divisor: float) -> tuple[float, float]:
        """Update the weights; returns the norm of the gradient and the learning rate."""
        parameters = optimiser.trained(work.optimiser)
        self.processes.sum_gradients(parameters)
        norm = optimiser.normalise_gradient(parameters, divisor, work.stage.clip)
        if not math.isfinite(norm):
            raise DivergedError(
                f"the norm of the gradient is {norm} in update {self.state.updates}; start another "
                f"run with a lower train.stage[{self.state.stage}].learning_rate, or with "
                "train.precision fp32"
            )
        factor = schedule.factor(work.stage, self.state.update, work.updates)
        rate = optimiser.set_rate(work.optimiser, factor * self.state.tracker.rate)
        work.optimiser.step()
        return norm, rate

    # Reports

    def _note_parts(self, loss: Loss) -> None:
        window = self.state.window
        for name, value in loss.parts.items():
            window.parts[name] = window.parts.get(name, 0.0) + float(value)
        window.part_divisor += float(loss.divisor)

    def _log_window(self, work: Work, norm: float, rate: float) -> None:
        window = self.state.window
        self.state.window = Window()
        self.report = work.objective.report()
        warning = work.objective.warning(self.report)
        if warning is not None:
            self.watch(self._status(work, window.loss / window.divisor, warning=warning))
        self._log(
            "train",
            {
                **{name: value / window.part_divisor for name, value in window.parts.items()},
                **self.report,
                "loss": window.loss / window.divisor,
                "learning_rate": rate,
                "gradient_norm": norm,
                "documents_per_second": self.speed.documents_per_second,
                **({} if warning is None else {"warning": warning}),
            },
        )

    def _log(self, kind: str, values: dict[str, Any]) -> None:
        if self.log is None:
            return
        state = self.state
        place = {
            "stage": state.stage,
            "epoch": state.epoch,
            "documents": state.documents,
            "seconds": round(state.seconds, 3),
        }
        state.log_size = self.log.add(kind, state.updates, {**place, **values})

    def _status(self, work: Work, loss: float, **found: Any) -> Status:
        left = (work.updates - self.state.update) * self.speed.seconds_per_update
        limit = self.interruption.seconds_left
        return Status(
            stage=self.state.stage,
            stages=len(self.config.train.stage),
            epoch=max(0, self.state.update - 1) // len(work.batches),
            update=self.state.update,
            updates=work.updates,
            loss=loss,
            documents_per_second=self.speed.documents_per_second,
            seconds_left=left if limit is None else min(left, limit),
            report=self.report,
            **found,
        )

    # Validation and checkpoints

    def _validate(self, work: Work) -> None:
        if work.valid is None:
            return
        self.model.eval()
        seed_everything(derive(self.config.train.seed, self.state.stage))
        scores = {"loss": validate.loss(self.model, work.objective, work.valid, self.processes)}
        metric = work.stage.select
        if metric != validate.LOSS:
            found = self._score(metric, work.stage.batch_size) if self.processes.main else 0.0
            scores[metric] = self.processes.sum([found])[0]
        score = -scores["loss"] if metric == validate.LOSS else scores[metric]
        best = self.state.tracker.add(score, work.stage)
        self._log("valid", {**scores, "best": best})
        if best:
            self._save_best(scores)
        self._save(work)
        self.watch(self._status(work, scores["loss"], validation=scores, best=best))

    def _score(self, metric: str, batch_size: int) -> float:
        return validate.score(
            self.model,
            self.setup.valid,
            validate.Judge(
                metric=metric,
                protocol=self.config.evaluate.protocol,
                vocabulary=self.setup.vocabulary,
                paradigm=self.setup.targets.paradigm,
                max_source=self.config.data.max_source,
            ),
            batch_size,
        )

    def _save_best(self, scores: dict[str, float]) -> None:
        described = {"stage": self.state.stage, "update": self.state.updates, **scores}
        self._write(runs.BEST, msgspec.json.encode(described))

    def _save_if_due(self, work: Work) -> None:
        if time.monotonic() - self.saved >= 60 * self.config.train.checkpoint_minutes:
            self._save(work)

    def _save(self, work: Work | None) -> None:
        """Write the checkpoint to resume from; without `work`, at the start of a stage."""
        self._write(runs.LAST, msgspec.json.encode(self.state), work)
        self.saved = time.monotonic()

    def _write(self, name: str, state: bytes, work: Work | None = None) -> None:
        if not self.processes.main:
            return
        content = Checkpoint(
            model=checkpoint.model_tensors(self.model),
            optimiser={} if work is None else optimiser.tensors(work.optimiser, self.model),
            objective={} if work is None else work.objective.state(),
            vocabulary=self.setup.vocabulary_hash,
            state=state,
        )
        save = checkpoint.save_latest if name == runs.LAST else checkpoint.save
        save(self.setup.folder / name, content)

    def _load(self) -> Checkpoint | None:
        path = self.setup.folder / runs.LAST
        if not path.exists():  # a new run, or one stopped before its first checkpoint
            return None
        saved = checkpoint.load(path, self.setup.vocabulary_hash)
        checkpoint.restore_model(self.model, saved.model, path)
        self.state = checkpoint.decode_state(State, saved, path)
        return saved


def _state(folder: Path) -> State:
    """The state of the run in a folder."""
    path = folder / runs.LAST
    return checkpoint.load_state(State, path) if path.exists() else State()


def _updates(stage: Stage, batches: int) -> int:
    limits = [stage.updates, stage.epochs and stage.epochs * batches]
    return min(limit for limit in limits if limit is not None)


def _augment(chosen: configs.KPDrop) -> Augment | None:
    return None if chosen.mode == "off" else KPDrop(chosen.mode, chosen.rate)


def _autocast(precision: str, device: torch.device) -> AbstractContextManager[Any]:
    has_it = device.type == "cuda" and torch.cuda.is_bf16_supported()
    wanted = precision == "bf16" or (precision == "auto" and has_it)
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=wanted)
