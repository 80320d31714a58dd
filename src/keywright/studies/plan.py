"""The steps of a study: what is trained and predicted, each under a digest of all it depends on.

The digest is part of the name of what a step makes. A changed setting, file or model therefore
makes a new step, and those that depend on it; everything else is found and kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import IO, Literal, cast

import msgspec

from keywright import __version__, runs
from keywright import config as configs
from keywright.config import Config
from keywright.data.documents import read_documents
from keywright.data.pairs import find_target
from keywright.data.writers import write_documents
from keywright.decoding.options import ExpectedF1
from keywright.files import atomic_write, open_binary, sha256
from keywright.predictor import PRETRAINED
from keywright.scorers.config import Config as ScorerConfig
from keywright.studies import drawable
from keywright.studies.definition import (
    OWN,
    DataSet,
    Decoder,
    Excerpt,
    Labels,
    Study,
    System,
    asking,
    config_of,
    scorer_config_of,
    starting_from,
)
from keywright.types import Document

DIGITS = 12
RUNS, PREDICTIONS, CONFIGS, DOCUMENTS, STEPS = "runs", "predictions", "configs", "data", "steps"
PAIRS, STATES, LABELS = "pairs", "states", "labels"
SCORER = "scorer"
"""What stands for the model of a step that trains a scorer."""
_PAIRS = 5  # pairs per document, for an estimate: 5,000 documents gave 25,570 in docs/results.md
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Step:
    """A command that makes one thing, and is repeated after an interruption to complete it."""

    kind: Literal["train", "predict", "pairs", "states", "label"]
    name: str
    key: str
    command: tuple[str, ...]  # arguments of keywright
    output: Path
    needs: tuple[str, ...] = ()  # keys of steps that come before
    work: float = 0.0  # documents that are read, or pairs of phrases
    model: str = ""  # steps of the same model and kind are about as fast
    effort: float = 1.0  # how many times as long a document takes as with greedy search, roughly


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
class _Model:
    """What `keywright predict --model` takes."""

    name: str
    digest: str
    needs: tuple[str, ...]  # keys of the steps that make it
    kind: str  # models of the same kind are about as fast


@dataclass(frozen=True)
class _Texts:
    """Documents to predict for."""

    name: str
    path: Path
    digest: str
    count: int


@dataclass(frozen=True)
class Plan:
    study: Study
    folder: Path
    steps: tuple[Step, ...]
    cells: tuple[Cell, ...]
    documents: Mapping[str, Path]  # by data set
    runs: Mapping[str, Path]  # by name, such as "CatSeq" or "CatSeq (seed 2)"
    configs: Mapping[Path, str]  # files that the steps read
    excerpts: Mapping[Path, Excerpt]  # some documents of a file, by the file they go to
    states: Mapping[tuple[str, str], Path]  # decoder states, by system and data set


def make(study: Study, folder: Path) -> Plan:
    """The plan of a study whose results go to a folder. Nothing is written yet."""
    maker = _Maker(study, folder)
    for system in study.systems:
        for seed in study.seeds_of(system):
            maker.add(system, seed)
    for figure in study.figures:
        if figure.kind == "states":
            for system in drawable.systems_of(study, figure):
                for dataset in drawable.datasets_of(study, figure):
                    maker.add_states(system, dataset)
    return Plan(
        study,
        folder,
        tuple(maker.steps.values()),
        tuple(maker.cells),
        {name: texts.path for name, texts in maker.texts.items()},
        maker.runs,
        maker.configs,
        maker.excerpts,
        maker.states,
    )


def prepare(plan: Plan) -> None:
    """Write the files that the steps read, and make the folders that they write to."""
    plan.folder.mkdir(parents=True, exist_ok=True)
    for step in plan.steps:
        step.output.parent.mkdir(parents=True, exist_ok=True)
    for path, text in plan.configs.items():
        _write(path, text)
    for path, excerpt in plan.excerpts.items():
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_documents(_read(excerpt), path)


class _Maker:
    def __init__(self, study: Study, folder: Path):
        self.study = study
        self.folder = folder
        self.steps: dict[str, Step] = {}
        self.cells: list[Cell] = []
        self.runs: dict[str, Path] = {}
        self.configs: dict[Path, str] = {}
        self.excerpts: dict[Path, Excerpt] = {}
        self.states: dict[tuple[str, str], Path] = {}
        self.files: dict[str, str] = {}  # digests of files and folders
        self.texts = {d.name: self._texts(d.name, d) for d in study.datasets}

    def add(self, system: System, seed: int) -> None:
        if system.published:
            return
        if system.predictions:
            for name, file in system.predictions.items():
                self.cells.append(Cell(system.name, OWN, seed, name, Path(file), given=True))
            return
        model = self._model(system, seed)
        label = _label(self.study, system, seed)
        for decoder in self.study.decoders_of(system):
            for dataset in self.study.datasets_of(system):
                made = self._predict(model, label, decoder, self.texts[dataset.name]).output
                self.cells.append(Cell(system.name, decoder.name, seed, dataset.name, made))

    def _model(self, system: System, seed: int) -> _Model:
        if system.trained:
            step = self._train(system, seed)
            return _Model(str(step.output), step.key, (step.key,), system.config or "")
        assert system.model is not None
        path = system.model.removeprefix(PRETRAINED)
        content = self._file(path) if Path(path).is_dir() else __version__
        return _Model(system.model, _key("model", system.model, content), (), system.model)

    def _train(self, system: System, seed: int) -> Step:
        label = _label(self.study, system, seed)
        config = config_of(system)
        config = replace(
            config,
            train=replace(config.train, seed=seed),
            evaluate=replace(config.evaluate, documents=()),
        )
        needs: tuple[str, ...] = ()
        found = self._named(config)
        if system.start is not None:
            other = self.study.system(system.start)
            before = self._model(other, self._seed(other, seed))
            config = starting_from(config, before.name)
            needs = before.needs
            found += () if needs else (before.digest,)
        if system.scorer is not None:
            scorer = self._scorer(system.scorer)
            config = asking(config, str(scorer.output))
            needs = (*needs, scorer.key)
        labelled = [self._labelled(self.study.labels_named(name), seed) for name in system.labels]
        if labelled:
            config = _learning_from(config, labelled)
            needs = (*needs, *(step.key for step in labelled))
        text = configs.to_toml(config)
        given = () if labelled else config.data.train
        data = [self._file(path) for path in (*given, *config.data.valid)]
        key = _key("train", _settings(config), *data, *found, *needs)
        output = _place(self.folder / RUNS, label, key)
        written = self.folder / CONFIGS / f"{label}-{key}.toml"
        self.configs[written] = text
        step = Step(
            "train",
            f"train {label}",
            key,
            ("train", str(written), "--run", str(output), "--resume"),
            output,
            needs,
            _documents_read(config, sum(step.work for step in labelled) if labelled else None),
            config.model.name,
        )
        step = self.steps.setdefault(key, step)  # systems may differ in nothing but their names
        self.runs[label] = step.output
        return step

    def _scorer(self, name: str) -> Step:
        """The step that trains a scorer, after those that make its pairs."""
        scorer = self.study.scorer(name)
        config = scorer_config_of(scorer)
        found = self._named(config)
        train = self._pairs(name, "train", scorer.system, scorer.train)
        pairs = replace(config.pairs, train=(str(train.output),), valid=())
        needs: tuple[str, ...] = (train.key,)
        if scorer.valid is not None:
            valid = self._pairs(name, "valid", scorer.system, scorer.valid)
            pairs = replace(pairs, valid=(str(valid.output),))
            needs = (*needs, valid.key)
        config = replace(config, pairs=pairs)
        text = configs.to_toml(config)
        key = _key("scorer", text, *found, *needs)
        output = _place(self.folder / RUNS, name, key)
        written = self.folder / CONFIGS / f"{name}-{key}.toml"
        self.configs[written] = text
        command = ("train", str(written), "--run", str(output), "--resume")
        work = _pairs_read(config, train.work)
        step = Step("train", f"train {name}", key, command, output, needs, work, SCORER)
        return self.steps.setdefault(key, step)

    def _pairs(self, name: str, part: str, system: str, excerpt: Excerpt) -> Step:
        """Pairs of sampled and gold phrases: what a policy meets in training."""
        other = self.study.system(system)
        trained = self._train(other, self.study.seeds_of(other)[0])
        label = f"{name}, {part}"
        texts = self._texts(label, excerpt)
        key = _key("sample", trained.key, texts.digest)
        sampled = _place(self.folder / PREDICTIONS / PAIRS, label, key, ".jsonl")
        model = ("--model", str(trained.output), "--documents", str(texts.path))
        predict = Step(
            "predict",
            f"sample phrases for {label}",
            key,
            ("predict", *model, "--output", str(sampled), "--resume", "--decode", "sample"),
            sampled,
            (trained.key,),
            texts.count,
            f"{other.config}, sample",
        )
        self.steps.setdefault(key, predict)
        key = _key("pairs", predict.key)
        output = _place(self.folder / PAIRS, label, key, ".jsonl")
        command = ("make-pairs", str(sampled), "--documents", str(texts.path))
        step = Step(
            "pairs",
            f"make pairs for {label}",
            key,
            (*command, "--output", str(output), "--match", "line"),
            output,
            (predict.key,),
            texts.count,
        )
        return self.steps.setdefault(key, step)

    def _labelled(self, labels: Labels, seed: int) -> Step:
        """The step that gives documents the keyphrases that a system predicts for them."""
        system = self.study.system(labels.system)
        texts = self._texts(labels.name, labels)
        seed = self._seed(system, seed)
        label = _label(self.study, system, seed)
        decoder = self.study.decoder_of(labels)
        predict = self._predict(self._model(system, seed), label, decoder, texts)
        least = ["--min-confidence", str(labels.min_confidence)] if labels.min_confidence else []
        key = _key("label", predict.key, str(labels.most), *least)
        output = _place(self.folder / LABELS, labels.name, key, ".jsonl")
        command = ("data", "label", str(texts.path), str(predict.output), str(output))
        step = Step(
            "label",
            f"label {labels.name} with {_decoded(label, decoder)}",
            key,
            (*command, "--most", str(labels.most), *least, "--match", "line"),
            output,
            (predict.key,),
            predict.work,
        )
        return self.steps.setdefault(key, step)

    def _seed(self, system: System, seed: int) -> int:
        """The seed of a system that one with another seed starts or learns from."""
        seeds = self.study.seeds_of(system)
        return seed if seed in seeds else seeds[0]

    def add_states(self, system: System, dataset: DataSet) -> None:
        """Decoder states of the first seed, for a figure."""
        seed = self.study.seeds_of(system)[0]
        trained = self._train(system, seed)
        label = _label(self.study, system, seed)
        texts = self.texts[dataset.name]
        key = _key("states", trained.key, texts.digest)
        output = _place(self.folder / STATES, f"{label}, {dataset.name}", key, ".npz")
        model = ("--model", str(trained.output), "--documents", str(texts.path))
        step = Step(
            "states",
            f"decoder states of {label} on {dataset.name}",
            key,
            ("decoder-states", *model, "--output", str(output)),
            output,
            (trained.key,),
            texts.count,
            system.config or "",
        )
        self.states[system.name, dataset.name] = self.steps.setdefault(key, step).output

    def _predict(self, model: _Model, label: str, decoder: Decoder, texts: _Texts) -> Step:
        label = _decoded(label, decoder)
        options: list[str] = []
        if decoder.strategy is not None:
            options += ["--decode", decoder.strategy]
        for setting in decoder.set:
            options += ["--set", setting]
        key = _key("predict", model.digest, texts.digest, *options)
        output = _place(self.folder / PREDICTIONS / texts.name, label, key, ".jsonl")
        command = ("predict", "--model", model.name, "--documents", str(texts.path))
        step = Step(
            "predict",
            f"predict {texts.name} with {label}",
            key,
            (*command, "--output", str(output), "--resume", *options),
            output,
            model.needs,
            texts.count,
            ", ".join((model.kind, *options)),
            _effort(decoder),
        )
        return self.steps.setdefault(key, step)

    def _texts(self, name: str, excerpt: Excerpt) -> _Texts:
        """Some documents, which go to a new file unless they are all of a file."""
        skipped = [str(excerpt.skip)] if excerpt.skip else []
        digest = _key("documents", self._file(excerpt.documents), str(excerpt.first), *skipped)
        path = Path(excerpt.documents)
        if excerpt.first is not None or excerpt.skip:
            path = self.folder / DOCUMENTS / f"{name}-{digest}.jsonl"
            self.excerpts[path] = excerpt
        return _Texts(name, path, digest, _count(excerpt))

    def _named(self, config: Config | ScorerConfig) -> tuple[str, ...]:
        """Digests of the files and folders that settings name, such as pretrained weights, if they
        are there. (Corpora, which are lists of files, are not among them.)"""
        values = runs.flat(configs.to_table(config)).values()
        named = [value for value in values if value and isinstance(value, str)]
        return tuple(self._file(value) for value in named if Path(value).exists())

    def _file(self, path: str) -> str:
        if path not in self.files:
            self.files[path] = _digest_of(Path(path))
        return self.files[path]


def _label(study: Study, system: System, seed: int) -> str:
    several = len(study.seeds_of(system)) > 1
    return f"{system.name} (seed {seed})" if several else system.name


def _decoded(label: str, decoder: Decoder) -> str:
    return label if decoder.name == OWN else f"{label}, {decoder.name}"


def _place(folder: Path, name: str, key: str, suffix: str = "") -> Path:
    """Where a step writes to. What it made under another name is kept: a system has another one
    when its study gets a second seed."""
    place = folder / f"{name}-{key}{suffix}"
    former = () if place.exists() else folder.glob(f"[!.]*-{key}{suffix}")
    return min(former, default=place)


def _read(excerpt: Excerpt) -> Iterator[Document]:
    end = None if excerpt.first is None else excerpt.skip + excerpt.first
    return islice(read_documents(excerpt.documents), excerpt.skip, end)


def _count(excerpt: Excerpt) -> int:
    most = None if excerpt.first is None else excerpt.skip + excerpt.first
    return _size(excerpt.documents, most) - excerpt.skip


def _size(path: str, most: int | None = None) -> int:
    """How many documents a file has, of which at most `most` count."""
    return _lines(path, Path(path).stat().st_mtime_ns, most)


def _documents_read(config: Config, labelled: float | None) -> float:
    """How many documents training reads, copies included, unless it stops early.

    `labelled` is the number of documents whose files are not there yet.
    """
    copies = 2 if config.data.kpdrop.mode == "augment" else 1
    total = 0.0
    for stage in config.train.stage:
        bounds: list[float] = [stage.updates * stage.batch_size] if stage.updates else []
        if stage.epochs:
            found = _training_documents(config) if labelled is None else labelled
            bounds.append(stage.epochs * found)
        total += min(bounds, default=0)
    return copies * total


def _training_documents(config: Config) -> int:
    skip, most = config.data.train_skip, config.data.train_documents
    end = None if most is None else skip + most
    total = 0
    for path in config.data.train:
        if end is None or total < end:
            total += _size(path, None if end is None else end - total)
    return max(total - skip, 0)


@cache
def _lines(path: str, changed: int, most: int | None) -> int:
    """In the usual formats documents are lines, which are counted faster than read."""
    if not {".jsonl", ".txt"} & set(Path(path).suffixes):
        return sum(1 for _ in islice(read_documents(path), most))
    found = 0
    with open_binary(path) as file:
        while (most is None or found < most) and (block := file.read(_BLOCK)):
            found += block.count(b"\n")
    return found if most is None else min(found, most)


def _learning_from(config: Config, labelled: Sequence[Step]) -> Config:
    """The config with the files of labelled documents to train on."""
    files = tuple(str(step.output) for step in labelled)
    data = replace(config.data, train=files, train_skip=0, train_documents=None)
    return replace(config, data=data)


def _pairs_read(config: ScorerConfig, documents: float) -> float:
    """About how many pairs the training of a scorer reads."""
    made = documents * _PAIRS
    return config.train.epochs * min(made, config.pairs.train_pairs or made)


def _effort(decoder: Decoder) -> float:
    """Five hypotheses at once take about as long as greedy search, more take longer."""
    table: dict[str, object] = {}
    for setting in decoder.set:
        configs.override(table, setting)
    most = ExpectedF1.samples if decoder.strategy == "expected_f1" else 1
    width = table.get("width", table.get("samples", most))
    return max(1.0, width / 5) if isinstance(width, int) else 1.0


def _digest_of(path: Path) -> str:
    """The digest of a file, of both files of a Chan/Ye pair, of what is read of a run folder, or of
    all files of another folder."""
    return _key("files", *(sha256(file) for file in _files(path)))


def _files(path: Path) -> Iterator[Path]:
    if (path / runs.MANIFEST).is_file():
        yield from (file for file in runs.files(path) if file.is_file())
        return
    if path.is_dir():
        yield from sorted(file for file in path.rglob("*") if file.is_file())
        return
    yield path
    target = find_target(path)
    if target is not None:
        yield target


def _settings(config: Config) -> str:
    """All settings that change what is trained; a training that stops early counts as trained."""
    settings = {**runs.decisive(config), "train.minutes": config.train.minutes}
    return msgspec.json.encode(settings, order="sorted").decode()


def _key(*what: str) -> str:
    encoded = msgspec.json.encode(list(what))
    return hashlib.sha256(encoded).hexdigest()[:DIGITS]


def _write(path: Path, text: str) -> None:
    """Settings without effect on the result, such as `threads`, may have changed since."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        with atomic_write(path) as file:
            cast(IO[str], file).write(text)


def ordered(steps: Sequence[Step]) -> list[Step]:
    """The steps in an order in which each comes after those that it needs.

    Of steps that could be next to each other, those that others wait for come first.
    """
    needed = {need for step in steps for need in step.needs}
    left = {step.key: step for step in sorted(steps, key=lambda step: step.key not in needed)}
    found: list[Step] = []
    while left:
        key = next(step.key for step in left.values() if not left.keys() & set(step.needs))
        found.append(left.pop(key))
    return found
