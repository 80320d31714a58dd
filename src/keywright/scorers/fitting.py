"""Training a scorer: regression of the scores of pairs (Luo et al. 2021, section 3.4).

Everything random follows from the seed and the position, and a checkpoint holds the position: a run
that is killed and resumed ends with the same weights.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from keywright import checkpoint, runs
from keywright.checkpoint import Checkpoint
from keywright.data.corpus import Digest
from keywright.errors import DataError
from keywright.files import drafted
from keywright.lexicons.wordpieces import WordpieceVocabulary
from keywright.nn.denormals import tuned
from keywright.scorers import folder as folders
from keywright.scorers import pretrained
from keywright.scorers.config import Config
from keywright.scorers.folder import ScorerRun
from keywright.scorers.pairs import Pairs, ScoredPair, read_all
from keywright.scorers.reading import PairReader, collate
from keywright.training import optimiser, schedule
from keywright.training.interrupt import Interruption
from keywright.training.log import Log
from keywright.training.loop import DivergedError, Watch
from keywright.training.randomness import derive, seed_everything
from keywright.training.state import Outcome, Speed, Status
from keywright.training.stopping import Tracker

# Batches whose pairs are sorted by length together, so that little of a batch is padding.
_BUCKET = 50


class State(msgspec.Struct):
    """After a whole number of updates; what a checkpoint holds besides tensors."""

    update: int = 0
    seconds: float = 0.0  # of training, without validation
    log_size: int = 0  # bytes of metrics.jsonl that belong to this state
    loss: float = 0.0  # summed since the last line of the log
    pairs: int = 0  # since the last line of the log
    tracker: Tracker = msgspec.field(default_factory=Tracker)
    finished: bool = False


@dataclass(frozen=True)
class Examples:
    """Pairs as a model reads them."""

    rows: list[list[int]]
    scores: Tensor  # [N]

    @classmethod
    def of(cls, pairs: Sequence[ScoredPair], reader: PairReader) -> Examples:
        rows = [reader.ids((pair.prediction, pair.target)) for pair in pairs]
        return cls(rows, torch.tensor([pair.score for pair in pairs]))

    def __len__(self) -> int:
        return len(self.rows)


def train(
    config: Config, folder: Path, *, resume: bool = False, watch: Watch = lambda status: None
) -> Outcome:
    """Train a scorer in a run folder, from the start or from where it stopped.

    With `resume`, a run that has not begun yet is begun.
    """
    interruption = Interruption(config.train.minutes)
    begun = resume and (folder / runs.MANIFEST).exists()
    if begun:
        saved = folders.read(folder).config
        config = replace(config, scorer=replace(config.scorer, sizes=saved.scorer.sizes))
        runs.require_same(config, saved, folder)
        done = _state(folder)
        if done.finished:
            return Outcome("finished", folder, done.update)
    else:
        runs.require_free(folder)
    training = read_all(config.pairs.train, config.pairs.train_pairs, "pairs.train")
    valid = read_all(config.pairs.valid, config.pairs.valid_pairs, "pairs.valid")
    if not begun:
        _begin(config, folder, training.digest, valid.digest)
    run = folders.read(folder)
    _require_same_pairs(run, training, valid)
    with runs.locked(folder), interruption, tuned(config.train.threads):
        return Fitting(run, training.pairs, valid.pairs, interruption, watch).run()


def _begin(config: Config, folder: Path, training: Digest, valid: Digest) -> None:
    """Make the run folder, with the pretrained weights as its first checkpoint.

    So only this step needs the pretrained encoder, and what is wrong with that is an error before
    there is a folder.
    """
    found = pretrained.find(config.scorer)
    try:
        vocabulary = WordpieceVocabulary(found.pieces, [])
    except ValueError as error:
        raise DataError(f"cannot be used: {error}", found.folder / "vocab.txt") from None
    config = replace(config, scorer=replace(config.scorer, sizes=found.sizes))
    seed_everything(config.train.seed)
    model = folders.build(config, vocabulary)
    found.fill(model)
    with drafted(folder) as draft:
        manifest = folders.write(draft, config, vocabulary, training, valid)
        start = Checkpoint(
            model=checkpoint.model_tensors(model),
            vocabulary=manifest.vocabulary,
            state=msgspec.json.encode(State()),
        )
        checkpoint.save(draft / runs.LAST, start)


def _require_same_pairs(run: ScorerRun, training: Pairs, valid: Pairs) -> None:
    for read, recorded, setting in (
        (training.digest, run.manifest.train, "pairs.train"),
        (valid.digest, run.manifest.valid, "pairs.valid"),
    ):
        if read != recorded:
            raise DataError(
                f"{setting}: holds other pairs than when the run began ({read.documents:,} now, "
                f"{recorded.documents:,} then); start another run with --run"
            )


class Fitting:
    def __init__(
        self,
        run: ScorerRun,
        training: Sequence[ScoredPair],
        valid: Sequence[ScoredPair],
        interruption: Interruption,
        watch: Watch,
    ):
        self.run_folder = run
        self.settings = run.config.train
        self.stage = self.settings.stage()
        self.interruption = interruption
        self.watch = watch
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        reader = PairReader(run.vocabulary, run.config.scorer)
        self.training = Examples.of(training, reader)
        self.valid = Examples.of(valid, reader)
        path = run.folder / runs.LAST
        saved = checkpoint.load(path, run.manifest.vocabulary)
        self.state = checkpoint.decode_state(State, saved, path)
        self.model = folders.build(run.config, run.vocabulary).to(self.device)
        checkpoint.restore_model(self.model, saved.model, path)
        self.optimiser = optimiser.build(self.model, self.stage, "train")
        optimiser.restore(self.optimiser, self.model, saved.optimiser)
        self.log = Log(
            run.folder / runs.METRICS,
            run.folder / runs.TENSORBOARD,
            self.state.log_size,
            self.state.update,
        )
        self.speed = Speed()
        self.saved = time.monotonic()

    @property
    def updates_per_epoch(self) -> int:
        return math.ceil(len(self.training) / self.settings.batch_size)

    @property
    def updates(self) -> int:
        return self.settings.epochs * self.updates_per_epoch

    def run(self) -> Outcome:
        try:
            finished = self._fit()
        finally:
            self.log.close()
        folder, update = self.run_folder.folder, self.state.update
        if finished:
            return Outcome("finished", folder, update)
        number = self.interruption.signal
        return Outcome("minutes" if number is None else "signal", folder, update, number)

    def _fit(self) -> bool:
        """Whether training came to its end; if not, somebody wants the run to stop."""
        state = self.state
        for batch in self._batches():
            self._update(batch)
            if state.update % self._validate_every == 0 or state.update == self.updates:
                self._validate()
            if state.update == self.updates or state.tracker.exhausted(self.stage):
                break
            if self.interruption.requested:
                self._save()
                return False
            if time.monotonic() - self.saved >= 60 * self.settings.checkpoint_minutes:
                self._save()
        state.finished = True
        self._save()
        return True

    @property
    def _validate_every(self) -> int:
        return self.settings.validate_every or self.updates_per_epoch

    def _batches(self) -> Iterator[NDArray[np.int64]]:
        """The batches that are left, epoch after epoch."""
        first, skipped = divmod(self.state.update, self.updates_per_epoch)
        for epoch in range(first, self.settings.epochs):
            yield from self._epoch(epoch)[skipped if epoch == first else 0 :]

    def _epoch(self, epoch: int) -> list[NDArray[np.int64]]:
        """All batches of an epoch: which pairs meet is random, but they are of like length."""
        rng = np.random.default_rng([self.settings.seed, epoch])
        lengths = np.array([len(row) for row in self.training.rows])
        order = rng.permutation(len(lengths))
        size = self.settings.batch_size
        batches: list[NDArray[np.int64]] = []
        for start in range(0, len(order), size * _BUCKET):
            bucket = order[start : start + size * _BUCKET]
            bucket = bucket[np.argsort(lengths[bucket], kind="stable")]
            batches += [bucket[at : at + size] for at in range(0, len(bucket), size)]
        return [batches[place] for place in rng.permutation(len(batches))]

    def _update(self, batch: NDArray[np.int64]) -> None:
        began = time.monotonic()
        state = self.state
        seed_everything(derive(self.settings.seed, state.update))
        self.model.train()
        self.optimiser.zero_grad(set_to_none=True)
        loss = self._loss(self.training, batch)
        loss.backward()  # type: ignore[no-untyped-call]
        parameters = optimiser.trained(self.optimiser)
        norm = optimiser.normalise_gradient(parameters, len(batch), self.stage.clip)
        if not math.isfinite(norm):
            raise DivergedError(
                f"the gradient of update {state.update + 1} is {norm}; start another run with a "
                "lower train.learning_rate"
            )
        state.update += 1
        rate = optimiser.set_rate(
            self.optimiser, schedule.factor(self.stage, state.update, self.updates)
        )
        self.optimiser.step()
        self._note(float(loss.detach()), len(batch), time.monotonic() - began)
        if state.update % self.settings.log_every == 0:
            self._log_window(norm, rate)

    def _loss(self, examples: Examples, batch: NDArray[np.int64]) -> Tensor:
        """Squared errors, summed; those of pairs whose score is 0 count by `zero_weight`."""
        scores = examples.scores[batch].to(self.device)
        errors = (self._predict(examples, batch) - scores) ** 2
        return torch.where(scores == 0, self.settings.zero_weight, 1.0) @ errors

    def _predict(self, examples: Examples, batch: Sequence[int] | NDArray[np.int64]) -> Tensor:
        """Scores [B]."""
        ids, mask = collate([examples.rows[place] for place in batch])
        logits: Tensor = self.model(ids.to(self.device), mask.to(self.device))
        return torch.sigmoid(logits)

    def _note(self, loss: float, pairs: int, seconds: float) -> None:
        self.state.loss += loss
        self.state.pairs += pairs
        self.state.seconds += seconds
        self.speed.add(pairs, seconds)
        self.watch(self._status(loss / pairs))

    def _log_window(self, norm: float, rate: float) -> None:
        state = self.state
        self._log(
            "train",
            {
                "loss": state.loss / state.pairs,
                "learning_rate": rate,
                "gradient_norm": norm,
                "pairs_per_second": self.speed.documents_per_second,
            },
        )
        state.loss, state.pairs = 0.0, 0

    def _log(self, kind: str, values: dict[str, float]) -> None:
        state = self.state
        place = {"seconds": round(state.seconds, 3)}
        state.log_size = self.log.add(kind, state.update, {**place, **values})

    def _status(
        self, loss: float, validation: dict[str, float] | None = None, best: bool = False
    ) -> Status:
        left = (self.updates - self.state.update) * self.speed.seconds_per_update
        limit = self.interruption.seconds_left
        return Status(
            stage=0,
            stages=1,
            epoch=max(0, self.state.update - 1) // self.updates_per_epoch,
            update=self.state.update,
            updates=self.updates,
            loss=loss,
            documents_per_second=self.speed.documents_per_second,
            seconds_left=left if limit is None else min(left, limit),
            validation=validation,
            best=best,
        )

    def _validate(self) -> None:
        if not len(self.valid):
            return
        scores = self._judge()
        best = self.state.tracker.add(-scores["loss"], self.stage)
        self._log("valid", scores)
        if best:
            described = {"update": self.state.update, **scores}
            self._write(runs.BEST, msgspec.json.encode(described))
        self._save()
        self.watch(self._status(scores["loss"], validation=scores, best=best))

    @torch.no_grad()
    def _judge(self) -> dict[str, float]:
        """How far the model is from the scores of the validation pairs."""
        self.model.eval()
        order = sorted(range(len(self.valid)), key=lambda place: len(self.valid.rows[place]))
        found = torch.cat(
            [
                self._predict(self.valid, order[start : start + 256])
                for start in range(0, len(order), 256)
            ]
        ).cpu()
        gold = self.valid.scores[order]
        errors = found - gold
        weights = torch.where(gold == 0, self.settings.zero_weight, 1.0)
        scores = {
            "loss": float((weights * errors**2).mean()),
            "mean_error": float(errors.abs().mean()),
        }
        if gold.std() > 0 and found.std() > 0:  # otherwise there is no correlation
            scores["pearson"] = float(torch.corrcoef(torch.stack([found, gold]))[0, 1])
        return scores

    def _save(self) -> None:
        memory = optimiser.tensors(self.optimiser, self.model)
        self._write(runs.LAST, msgspec.json.encode(self.state), memory)
        self.saved = time.monotonic()

    def _write(self, name: str, state: bytes, memory: dict[str, Tensor] | None = None) -> None:
        content = Checkpoint(
            model=checkpoint.model_tensors(self.model),
            optimiser=memory or {},
            vocabulary=self.run_folder.manifest.vocabulary,
            state=state,
        )
        save = checkpoint.save_latest if name == runs.LAST else checkpoint.save
        save(self.run_folder.folder / name, content)


def _state(folder: Path) -> State:
    return checkpoint.load_state(State, folder / runs.LAST)
