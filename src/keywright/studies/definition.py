"""The definition of a study: a TOML file, checked completely before anything is trained."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from keywright import config as configs
from keywright import parts, protocols
from keywright.config import Config, Count, Natural
from keywright.data.documents import read_documents
from keywright.errors import ConfigError, DataError, KeywrightError, UnknownNameError
from keywright.evaluate import resolve
from keywright.predictor import DEFAULT, EXTRACTORS, PRETRAINED

OWN = "own"
"""The name of the decoder that stands for what a model's config says."""
_NAME = re.compile(r"[^/\\\x00-\x1f]{1,80}")


@dataclass(frozen=True)
class System:
    """Where the predictions of a row come from: exactly one of the first four is given."""

    name: str
    config: str | None = None  # a run to train
    model: str | None = None  # anything that `keywright predict --model` takes
    predictions: dict[str, str] = field(default_factory=dict)  # files by data set
    # Scores of a paper, times 100, by data set and metric: shown, not compared.
    published: dict[str, dict[str, float]] = field(default_factory=dict)
    set: tuple[str, ...] = ()  # settings of the config
    start: str | None = None  # another trained system, from whose best weights training starts
    seeds: tuple[Natural, ...] | None = None  # by default those of the study
    decoders: tuple[str, ...] | None = None  # by default all of the study

    @property
    def trained(self) -> bool:
        return self.config is not None


@dataclass(frozen=True)
class DataSet:
    name: str
    documents: str
    protocol: str | None = None  # by default the study's
    first: Count | None = None  # only so many documents


@dataclass(frozen=True)
class Decoder:
    name: str
    strategy: str | None = None  # None: that of the model's config
    set: tuple[str, ...] = ()


@dataclass(frozen=True)
class TableSpec:
    """A table; without systems, data sets or decoders, it has all of them."""

    name: str
    title: str = ""
    kind: Literal["scores", "calibration", "differences", "overlap"] = "scores"
    systems: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    decoders: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()  # by default the study's
    baseline: str | None = None  # the row that all others are tested against


@dataclass(frozen=True)
class Study:
    title: str
    systems: tuple[System, ...]
    datasets: tuple[DataSet, ...]
    note: str = ""
    protocol: str = protocols.DEFAULT
    metrics: tuple[str, ...] = ("present.F1@5", "present.F1@M", "absent.F1@5", "absent.F1@M")
    seeds: tuple[Natural, ...] = (1,)
    resamples: Count = 10_000
    decoders: tuple[Decoder, ...] = (Decoder(OWN),)
    tables: tuple[TableSpec, ...] = (TableSpec("main"),)

    def system(self, name: str) -> System:
        return next(system for system in self.systems if system.name == name)

    def dataset(self, name: str) -> DataSet:
        return next(dataset for dataset in self.datasets if dataset.name == name)

    def protocol_of(self, dataset: DataSet) -> str:
        return dataset.protocol or self.protocol

    def seeds_of(self, system: System) -> tuple[int, ...]:
        return (system.seeds or self.seeds) if system.trained else (0,)

    def decoders_of(self, system: System) -> tuple[Decoder, ...]:
        """What a system is decoded with; only models have a choice."""
        if system.predictions or system.published or _is_extractor(system):
            return (Decoder(OWN),)
        wanted = system.decoders
        return tuple(d for d in self.decoders if wanted is None or d.name in wanted)


def load(path: str | Path) -> Study:
    """The study of a TOML file; errors name the line."""
    lines = _Lines(Path(path))
    table = configs.read_table(path)
    try:
        study = configs.fill(Study, table)
    except ConfigError as error:
        raise lines.error(str(error)) from None
    for place, message in _problems(study):
        raise lines.error(f"{place}: {message}")
    return study


def config_of(system: System) -> Config:
    """The config of a system that is trained, with its settings."""
    assert system.config is not None
    return configs.load(system.config, system.set)


def _is_extractor(system: System) -> bool:
    return system.model == DEFAULT or system.model in parts.names(EXTRACTORS)


def _problems(study: Study) -> Iterator[tuple[str, str]]:
    """What is wrong with a study: the path of a setting, and what to do about it."""
    yield from _name_problems(study)
    for number, system in enumerate(study.systems):
        yield from _system_problems(study, system, f"systems[{number}]")
    yield from _cycles(study)
    for number, dataset in enumerate(study.datasets):
        yield from _dataset_problems(study, dataset, f"datasets[{number}]")
    for number, table in enumerate(study.tables):
        yield from _table_problems(study, table, f"tables[{number}]")


def _name_problems(study: Study) -> Iterator[tuple[str, str]]:
    groups: dict[str, Sequence[System | DataSet | Decoder | TableSpec]] = {
        "systems": study.systems,
        "datasets": study.datasets,
        "decoders": study.decoders,
        "tables": study.tables,
    }
    for group, members in groups.items():
        if not members:
            yield group, "is empty; a study needs at least one"
        names = [member.name for member in members]
        for number, name in enumerate(names):
            if not _NAME.fullmatch(name) or name.startswith("."):
                yield f"{group}[{number}].name", f"{name!r} cannot be part of a file name"
            if name in names[:number]:
                yield f"{group}[{number}].name", f"{name!r} is used twice; names must differ"


def _system_problems(study: Study, system: System, place: str) -> Iterator[tuple[str, str]]:
    given = [k for k in ("config", "model", "predictions", "published") if getattr(system, k)]
    if len(given) != 1:
        found = " and ".join(given) or "none of them"
        yield (
            f"{place}.name",
            f"needs one of `config`, `model`, `predictions` or `published`, and has {found}",
        )
    if system.trained:
        yield from _config_problems(study, system, place)
    elif system.set or system.start or system.seeds:
        yield f"{place}.name", "only a system with a `config` has `set`, `start` or `seeds`"
    if system.model is not None and not _is_model(system.model):
        known = [DEFAULT, *parts.names(EXTRACTORS)]
        yield (
            f"{place}.model",
            f"{system.model!r} is neither the folder of a model nor one of {', '.join(known)}",
        )
    known = [dataset.name for dataset in study.datasets]
    for dataset in (*system.predictions, *system.published):
        kind = "predictions" if system.predictions else "published"
        yield from _unknown("data set", dataset, known, f"{place}.{kind}")
    for dataset, file in system.predictions.items():
        if not Path(file).is_file():
            yield f"{place}.predictions", f"{file}: there is no such file (for {dataset})"
    for name in system.decoders or ():
        yield from _unknown("decoder", name, [d.name for d in study.decoders], f"{place}.decoders")


def _config_problems(study: Study, system: System, place: str) -> Iterator[tuple[str, str]]:
    try:
        config = config_of(system)
    except KeywrightError as error:
        yield f"{place}.config", str(error)
        return
    for path in (*config.data.train, *config.data.valid):
        if not Path(path).exists():
            yield (
                f"{place}.config",
                f"{system.config} needs {path}, which does not exist; get the data, or override "
                "data.train and data.valid in `set`",
            )
    if system.start is not None:
        trained = [other.name for other in study.systems if other.trained]
        yield from _unknown("trained system", system.start, trained, f"{place}.start")


def _cycles(study: Study) -> Iterator[tuple[str, str]]:
    starts = {system.name: system.start for system in study.systems}
    for number, system in enumerate(study.systems):
        chain = [system.name]
        while (before := starts.get(chain[-1])) is not None:
            if before in chain:
                circle = " -> ".join([*chain, before])
                yield f"systems[{number}].start", f"is a cycle: {circle}; one of them must be first"
                break
            chain.append(before)


def _dataset_problems(study: Study, dataset: DataSet, place: str) -> Iterator[tuple[str, str]]:
    try:
        protocols.load(study.protocol_of(dataset))
    except KeywrightError as error:
        yield f"{place}.protocol", str(error)
    try:
        next(iter(read_documents(dataset.documents, need_gold=True)), None)
    except DataError as error:
        yield f"{place}.documents", str(error)


def _table_problems(study: Study, table: TableSpec, place: str) -> Iterator[tuple[str, str]]:
    systems = [system.name for system in study.systems]
    groups: tuple[tuple[str, str, Iterable[str], list[str]], ...] = (
        ("system", "systems", table.systems, systems),
        ("data set", "datasets", table.datasets, [d.name for d in study.datasets]),
        ("decoder", "decoders", table.decoders, [d.name for d in study.decoders]),
        ("system", "baseline", [table.baseline] if table.baseline else [], systems),
    )
    for kind, key, names, known in groups:
        for name in names:
            yield from _unknown(kind, name, known, f"{place}.{key}")
    if table.baseline and study.system(table.baseline).published:
        yield f"{place}.baseline", f"{table.baseline} has published scores only: nothing to test"
    for dataset in study.datasets:
        if table.datasets and dataset.name not in table.datasets:
            continue
        try:
            resolve(table.metrics or study.metrics, protocols.load(study.protocol_of(dataset)))
        except KeywrightError as error:
            yield f"{place}.metrics" if table.metrics else "metrics", str(error)


def _unknown(kind: str, name: str, known: Collection[str], place: str) -> Iterator[tuple[str, str]]:
    if name not in known:
        yield place, str(UnknownNameError(kind, name, known))


def _is_model(name: str) -> bool:
    return (
        name == DEFAULT
        or name.startswith(PRETRAINED)
        or name in parts.names(EXTRACTORS)
        or Path(name).is_dir()
    )


class _Lines:
    """In which line of a TOML file a setting such as `systems[1].config` is."""

    def __init__(self, path: Path):
        self.path = path

    def error(self, message: str) -> ConfigError:
        """An error that names the file and the line, if the setting it begins with is there."""
        place = message.partition(":")[0]
        line = self._line(place)
        return ConfigError(f"{self.path}:{line}: {message}" if line else f"{self.path}: {message}")

    def _line(self, place: str) -> int | None:
        known = self._places()
        while place:
            if place in known:
                return known[place]
            place = re.sub(r"(\.[^.\[]+|\[\d+\])$", "", place) if re.search(r"[.\[]", place) else ""
        return None

    def _places(self) -> Mapping[str, int]:
        found: dict[str, int] = {}
        counts: dict[str, int] = {}
        table = ""
        for number, line in enumerate(self.path.read_text("utf-8").splitlines(), start=1):
            text = line.strip()
            if header := re.match(r"\[\[([\w.]+)\]\]", text):
                counts[header[1]] = counts.get(header[1], -1) + 1
                table = f"{header[1]}[{counts[header[1]]}]"
                found.setdefault(header[1], number)
                found[table] = number
            elif header := re.match(r"\[([\w.]+)\]", text):
                table = self._inner(header[1], counts)
                found[table] = number
            elif key := re.match(r"[\w.-]+(?=\s*=)", text):
                found.setdefault(f"{table}.{key[0]}" if table else key[0], number)
        return found

    @staticmethod
    def _inner(header: str, counts: Mapping[str, int]) -> str:
        """`systems.published` after the second `[[systems]]` is `systems[1].published`."""
        first, dot, rest = header.partition(".")
        return f"{first}[{counts[first]}]{dot}{rest}" if first in counts else header
