"""The definition of a study: what its TOML file can contain."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from keywright import config as configs
from keywright import parts, protocols, runs
from keywright.config import Config, Count, Natural, Probability
from keywright.predictor import DEFAULT, EXTRACTORS
from keywright.scorers.config import Config as ScorerConfig

OWN = "own"
"""The name of the decoder that stands for what a model's config says."""


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
    start: str | None = None  # another system, from whose best weights training starts
    scorer: str | None = None  # what its reward `fb` asks
    labels: tuple[str, ...] = ()  # what it learns from, instead of the `data.train` of its config
    seeds: tuple[Natural, ...] | None = None  # by default those of the study
    decoders: tuple[str, ...] | None = None  # by default all of the study
    datasets: tuple[str, ...] = ()  # what it is tested on; by default all
    # The systems with published scores that it repeats, by decoder ("own" if there is no choice).
    reproduces: dict[str, str] = field(default_factory=dict)

    @property
    def trained(self) -> bool:
        return self.config is not None

    @property
    def has_weights(self) -> bool:
        """Whether training can start from it: it is trained here, or it is a run folder."""
        return self.trained or (
            self.model is not None and (Path(self.model) / runs.MANIFEST).is_file()
        )


@dataclass(frozen=True)
class Excerpt:
    """Documents of a file: all of them, or some."""

    documents: str
    first: Count | None = None  # only the first documents, this many
    skip: Natural = 0  # documents before them


@dataclass(frozen=True, kw_only=True)
class DataSet(Excerpt):
    name: str
    protocol: str | None = None  # by default the study's


@dataclass(frozen=True)
class Scorer:
    """A scorer of phrases, which the reward `fb` needs (Luo et al. 2021, section 3.4).

    A trained system samples phrases for documents; pairs of these and gold phrases train it.
    """

    name: str
    config: str
    system: str
    train: Excerpt
    valid: Excerpt | None = None
    set: tuple[str, ...] = ()  # settings of the config


@dataclass(frozen=True, kw_only=True)
class Labels(Excerpt):
    """Documents whose keyphrases are those that a system predicts, to learn from them."""

    name: str
    system: str
    decoder: str = OWN  # OWN: as the config of the system says
    most: Count = 5  # phrases of a document
    min_confidence: Probability = 0.0  # of its phrases: stated, or 1/KPP


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
    kind: Literal[
        "scores",
        "calibration",
        "differences",
        "overlap",
        "reproduction",
        "contrasts",
        "sections",
        "example",
    ] = "scores"
    systems: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    decoders: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()  # by default the study's
    baseline: str | None = None  # the row that all others are tested against
    # Of a table of scores: all rows are tested against each other, and those that share a letter do
    # not differ significantly.
    letters: bool = False
    document: Count = 1  # the number of the document that an example shows


FigureKind = Literal[
    "scores",
    "distribution",
    "reliability",
    "perplexity",
    "tokens",
    "sections",
    "overlap",
    "states",
]


@dataclass(frozen=True)
class FigureSpec:
    """Drawings of one kind; without systems, it has all that it can show."""

    name: str
    kind: FigureKind
    title: str = ""
    systems: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    decoders: tuple[str, ...] = ()
    metric: str | None = None  # of `scores` and `distribution`
    per: Literal["document", "phrase"] = "document"  # what a distribution counts
    # Bars of `scores` in one colour: the system of each data set. By default a colour per system.
    series: dict[str, dict[str, str]] = field(default_factory=dict)
    sample: Count = 2000  # how many decoder states are laid out


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
    figures: tuple[FigureSpec, ...] = ()
    scorers: tuple[Scorer, ...] = ()
    labels: tuple[Labels, ...] = ()

    def system(self, name: str) -> System:
        return next(system for system in self.systems if system.name == name)

    def dataset(self, name: str) -> DataSet:
        return next(dataset for dataset in self.datasets if dataset.name == name)

    def scorer(self, name: str) -> Scorer:
        return next(scorer for scorer in self.scorers if scorer.name == name)

    def labels_named(self, name: str) -> Labels:
        return next(labels for labels in self.labels if labels.name == name)

    def decoder_of(self, labels: Labels) -> Decoder:
        """What makes the labels; OWN need not be listed, and is all that extractors have."""
        listed = () if is_extractor(self.system(labels.system)) else self.decoders
        return next((d for d in listed if d.name == labels.decoder), Decoder(OWN))

    def protocol_of(self, dataset: DataSet) -> str:
        return dataset.protocol or self.protocol

    def seeds_of(self, system: System) -> tuple[int, ...]:
        return (system.seeds or self.seeds) if system.trained else (0,)

    def decoders_of(self, system: System) -> tuple[Decoder, ...]:
        """What a system is decoded with; only models have a choice."""
        if system.predictions or system.published or is_extractor(system):
            return (Decoder(OWN),)
        wanted = system.decoders
        return tuple(d for d in self.decoders if wanted is None or d.name in wanted)

    def datasets_of(self, system: System) -> tuple[DataSet, ...]:
        return tuple(d for d in self.datasets if not system.datasets or d.name in system.datasets)


def config_of(system: System) -> Config:
    """The config of a system that has weights, with its settings."""
    if system.model is not None:
        return configs.load(Path(system.model) / runs.CONFIG)
    assert system.config is not None
    return configs.load(system.config, system.set)


def scorer_config_of(scorer: Scorer) -> ScorerConfig:
    """The config of a scorer, with its settings."""
    return configs.load_as(ScorerConfig, scorer.config, scorer.set)


def fb_stages(config: Config) -> list[int]:
    """The stages whose reward is `fb` and has no scorer yet."""
    found = []
    for number, stage in enumerate(config.train.stage):
        reward = stage.objective.settings.get("reward")
        table = {"name": reward} if isinstance(reward, str) else reward or {}
        if table.get("name") == "fb" and "scorer" not in table:
            found.append(number)
    return found


def starting_from(config: Config, folder: str) -> Config:
    """The config with the run folder from whose weights its first stage starts."""
    first, *rest = config.train.stage
    stages = (replace(first, initial=folder), *rest)
    return replace(config, train=replace(config.train, stage=stages))


def asking(config: Config, scorer: str) -> Config:
    """The config with the run folder of a scorer in the rewards `fb`."""
    stages = list(config.train.stage)
    for number in fb_stages(config):
        objective = stages[number].objective
        reward = objective.settings["reward"]
        table = {} if isinstance(reward, str) else dict(reward)
        settings = {**objective.settings, "reward": {"name": "fb", **table, "scorer": scorer}}
        stages[number] = replace(stages[number], objective=configs.Part(objective.name, settings))
    return replace(config, train=replace(config.train, stage=tuple(stages)))


def is_extractor(system: System) -> bool:
    return system.model == DEFAULT or system.model in parts.names(EXTRACTORS)
