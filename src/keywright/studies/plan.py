"""The steps of a study: what is trained and predicted, each under a digest of all it depends on.

The digest is part of the name of what a step makes. A changed setting, file or model therefore
makes a new step, and those that depend on it; everything else is found and kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import IO, Literal, cast

import msgspec

from keywright import __version__
from keywright import config as configs
from keywright.config import Config
from keywright.data.documents import read_documents
from keywright.data.pairs import find_target
from keywright.data.writers import write_documents
from keywright.files import atomic_write, sha256
from keywright.studies.definition import OWN, DataSet, Decoder, Study, System, config_of

DIGITS = 12
RUNS, PREDICTIONS, CONFIGS, DOCUMENTS, STEPS = "runs", "predictions", "configs", "data", "steps"


@dataclass(frozen=True)
class Step:
    """A command that makes one thing, and is repeated after an interruption to complete it."""

    kind: Literal["train", "predict"]
    name: str
    key: str
    command: tuple[str, ...]  # arguments of keywright
    output: Path
    needs: tuple[str, ...] = ()  # keys of steps that come before
    work: float = 0.0  # documents that are read
    model: str = ""


@dataclass(frozen=True)
class Cell:
    """Predictions of a system: one seed, one decoder, one data set."""

    system: str
    decoder: str
    seed: int
    dataset: str
    predictions: Path
    given: bool = False  # predictions of somebody else


@dataclass(frozen=True)
class Plan:
    study: Study
    folder: Path
    steps: tuple[Step, ...]
    cells: tuple[Cell, ...]
    documents: Mapping[str, Path]  # by data set
    runs: Mapping[str, Path]  # by name, such as "CatSeq" or "CatSeq (seed 2)"
    configs: Mapping[Path, str]  # files that the steps read
    excerpts: Mapping[Path, DataSet]  # the first documents of a data set, by the file they go to


def make(study: Study, folder: Path) -> Plan:
    """The plan of a study whose results go to a folder. Nothing is written yet."""
    maker = _Maker(study, folder)
    for system in study.systems:
        for seed in study.seeds_of(system):
            maker.add(system, seed)
    return Plan(
        study,
        folder,
        tuple(maker.steps.values()),
        tuple(maker.cells),
        maker.documents,
        maker.runs,
        maker.configs,
        maker.excerpts,
    )


def prepare(plan: Plan) -> None:
    """Write the files that the steps read, and make the folders that they write to."""
    for step in plan.steps:
        step.output.parent.mkdir(parents=True, exist_ok=True)
    for path, text in plan.configs.items():
        _write(path, text)
    for path, dataset in plan.excerpts.items():
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_documents(islice(read_documents(dataset.documents), dataset.first), path)


class _Maker:
    def __init__(self, study: Study, folder: Path):
        self.study = study
        self.folder = folder
        self.steps: dict[str, Step] = {}
        self.cells: list[Cell] = []
        self.runs: dict[str, Path] = {}
        self.configs: dict[Path, str] = {}
        self.excerpts: dict[Path, DataSet] = {}
        self.files: dict[str, str] = {}  # digests of training data
        self.digests = {d.name: _dataset_digest(d) for d in study.datasets}
        self.counts = {d.name: _count(d) for d in study.datasets}
        self.documents = {d.name: self._documents(d) for d in study.datasets}

    def add(self, system: System, seed: int) -> None:
        if system.published:
            return
        if system.predictions:
            for name, file in system.predictions.items():
                self.cells.append(Cell(system.name, OWN, seed, name, Path(file), given=True))
            return
        model, key, needs = self._model(system, seed)
        for decoder in self.study.decoders_of(system):
            for dataset in self.study.datasets:
                self._predict(system, seed, decoder, dataset, (model, key, needs))

    def _model(self, system: System, seed: int) -> tuple[str, str, tuple[str, ...]]:
        """What `keywright predict --model` takes, its digest, and the steps that make it."""
        if system.trained:
            step = self._train(system, seed)
            return str(step.output), step.key, (step.key,)
        assert system.model is not None
        path = Path(system.model)
        content = _digest_of(path) if path.is_dir() else __version__
        return system.model, _key("model", system.model, content), ()

    def _train(self, system: System, seed: int) -> Step:
        label = _label(self.study, system, seed)
        config = config_of(system)
        config = replace(
            config,
            train=replace(config.train, seed=seed),
            evaluate=replace(config.evaluate, documents=()),
        )
        needs: tuple[str, ...] = ()
        if system.start is not None:
            other = self.study.system(system.start)
            seeds = self.study.seeds_of(other)
            before = self._train(other, seed if seed in seeds else seeds[0])
            first, *rest = config.train.stage
            stages = (replace(first, initial=str(before.output)), *rest)
            config = replace(config, train=replace(config.train, stage=stages))
            needs = (before.key,)
        text = configs.to_toml(config)
        data = [self._file(path) for path in (*config.data.train, *config.data.valid)]
        key = _key("train", text, *data, *needs)
        output = self.folder / RUNS / f"{label}-{key}"
        written = self.folder / CONFIGS / f"{label}-{key}.toml"
        self.configs[written] = text
        step = Step(
            "train",
            f"train {label}",
            key,
            ("train", str(written), "--run", str(output), "--resume"),
            output,
            needs,
            _documents_read(config),
            config.model.name,
        )
        self.steps.setdefault(key, step)
        self.runs[label] = output
        return step

    def _predict(
        self,
        system: System,
        seed: int,
        decoder: Decoder,
        dataset: DataSet,
        model: tuple[str, str, tuple[str, ...]],
    ) -> None:
        name, digest, needs = model
        label = _label(self.study, system, seed)
        if decoder.name != OWN:
            label = f"{label}, {decoder.name}"
        documents = self.documents[dataset.name]
        options: list[str] = []
        if decoder.strategy is not None:
            options += ["--decode", decoder.strategy]
        for setting in decoder.set:
            options += ["--set", setting]
        key = _key("predict", digest, self.digests[dataset.name], *options)
        output = self.folder / PREDICTIONS / dataset.name / f"{label}-{key}.jsonl"
        command = ("predict", "--model", name, "--documents", str(documents))
        self.steps.setdefault(
            key,
            Step(
                "predict",
                f"predict {dataset.name} with {label}",
                key,
                (*command, "--output", str(output), "--resume", *options),
                output,
                needs,
                self.counts[dataset.name],
                system.config or name,
            ),
        )
        made = self.steps[key].output
        self.cells.append(Cell(system.name, decoder.name, seed, dataset.name, made))

    def _documents(self, dataset: DataSet) -> Path:
        """The file of a data set; for its first documents, a new one."""
        if dataset.first is None:
            return Path(dataset.documents)
        name = f"{dataset.name}-{self.digests[dataset.name]}.jsonl"
        path = self.folder / DOCUMENTS / name
        self.excerpts[path] = dataset
        return path

    def _file(self, path: str) -> str:
        if path not in self.files:
            self.files[path] = _digest_of(Path(path))
        return self.files[path]


def _label(study: Study, system: System, seed: int) -> str:
    several = len(study.seeds_of(system)) > 1
    return f"{system.name} (seed {seed})" if several else system.name


def _dataset_digest(dataset: DataSet) -> str:
    return _key("documents", _digest_of(Path(dataset.documents)), str(dataset.first))


def _count(dataset: DataSet) -> int:
    return sum(1 for _ in islice(read_documents(dataset.documents), dataset.first))


def _documents_read(config: Config) -> float:
    """How many documents training reads, as far as the config tells."""
    each = config.data.train_documents
    total = 0.0
    for stage in config.train.stage:
        bounds = [stage.updates * stage.batch_size] if stage.updates else []
        if stage.epochs and each:
            bounds.append(stage.epochs * each)
        total += min(bounds, default=0)
    return total


def _digest_of(path: Path) -> str:
    """The digest of a file, of both files of a Chan/Ye pair, or of the files of a folder."""
    return _key("files", *(sha256(file) for file in _files(path)))


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from sorted(file for file in path.rglob("*") if file.is_file())
        return
    yield path
    target = find_target(path)
    if target is not None:
        yield target


def _key(*what: str) -> str:
    encoded = msgspec.json.encode(list(what))
    return hashlib.sha256(encoded).hexdigest()[:DIGITS]


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        with atomic_write(path) as file:
            cast(IO[str], file).write(text)


def ordered(steps: Sequence[Step]) -> list[Step]:
    """The steps in an order in which each comes after those that it needs."""
    left = {step.key: step for step in steps}
    found: list[Step] = []
    while left:
        ready = [step for step in left.values() if not any(need in left for need in step.needs)]
        found += ready
        for step in ready:
            del left[step.key]
    return found
