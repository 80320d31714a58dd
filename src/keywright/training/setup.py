"""Before training: check the config, read the documents, create the run folder."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from keywright import config as configs
from keywright import lexicon, runs
from keywright.config import Config
from keywright.data import corpus
from keywright.data.corpus import Corpus
from keywright.data.retrieval import Index
from keywright.data.targets import Targets
from keywright.errors import ConfigError, DataError
from keywright.lexicon import Lexicon
from keywright.training import initial, optimiser, validate
from keywright.training.objective import Context, Objective
from keywright.training.processes import Processes
from keywright.types import Document


@dataclass(frozen=True)
class Setup:
    """What a run needs to start or to continue."""

    config: Config
    folder: Path
    vocabulary: Lexicon
    vocabulary_hash: str
    targets: Targets
    training: Sequence[Document]
    valid: Sequence[Document]
    index: Index | None  # what the model retrieves from


def check(config: Config) -> Config:
    """The config with all its parts resolved; an error if that is not possible."""
    return runs.complete(check_settings(config))


def check_settings(config: Config) -> Config:
    """The same without what a model reads from elsewhere, such as weights on a hub."""
    config = runs.resolve(config)
    paradigm = runs.paradigm(config)
    if config.data.mark_absent and paradigm != "one2seq":
        raise ConfigError(
            f"data.mark_absent: has no effect on {paradigm} models; remove it, or choose a one2seq "
            "model"
        )
    validate.check(config, paradigm)
    return config


def rehearse(config: Config, waiting: Collection[int] = ()) -> None:
    """Build what a checked config asks for, so that errors of weights, objectives and optimisers
    appear before any document is read. `waiting`: stages whose objectives cannot be built yet."""
    vocabulary = initial.vocabulary(config) or lexicon.build(config.data.vocabulary, ())
    _build_once(config, vocabulary, _targets(config), waiting)


def set_up(config: Config, folder: Path, begun: bool, processes: Processes) -> Setup:
    """Read the documents of a checked config, and create the run folder unless it exists."""
    if not begun and processes.main:
        runs.require_free(folder)
    targets = _targets(config)
    valid = _read("data.valid", config.data.valid, config.data.valid_documents, targets)
    training = _read(
        "data.train",
        config.data.train,
        config.data.train_documents,
        targets,
        skip=config.data.train_skip,
        in_memory=config.data.in_memory,
        need_gold=not runs.model_class(config).unlabelled,
    )
    if not begun and processes.main:
        vocabulary = initial.vocabulary(config) or lexicon.build(
            config.data.vocabulary, training.documents
        )
        _build_once(config, vocabulary, targets)
        runs.create(folder, config, vocabulary, training.digest, valid.digest, training.documents)
    processes.wait()
    _, vocabulary, manifest = runs.read(folder)
    runs.require_same_data(training.digest, manifest.train, "data.train")
    runs.require_same_data(valid.digest, manifest.valid, "data.valid")
    return Setup(
        config=config,
        folder=folder,
        vocabulary=vocabulary,
        vocabulary_hash=manifest.vocabulary,
        targets=targets,
        training=training.documents,
        valid=valid.documents,
        index=runs.load_index(folder, manifest),
    )


def build_objective(
    config: Config, number: int, vocabulary: Lexicon, targets: Targets
) -> Objective:
    """The objective of a stage."""
    path = f"train.stage[{number}].objective"
    chosen = config.train.stage[number].objective
    module, settings = configs.part(chosen, "keywright.training.objectives", path)
    context = Context(
        vocabulary=vocabulary,
        targets=targets,
        protocol_name=config.evaluate.protocol,
        seed=config.train.seed,
        max_source=config.data.max_source,
        path=path,
    )
    objective: Objective = module.build(settings, context)
    return objective


def _read(
    name: str,
    paths: Sequence[str],
    most: int | None,
    targets: Targets,
    *,
    skip: int = 0,
    in_memory: bool = True,
    need_gold: bool = True,
) -> Corpus:
    found = corpus.read(paths, most, skip=skip, in_memory=in_memory, need_gold=need_gold)
    if skip and paths and not found.documents:
        raise DataError(f"{name}: its files have no more than the {skip:,} documents to leave out")
    if paths and not any(map(targets.any, found.documents)):
        raise DataError(f"{name}: none of its documents has a keyphrase to learn from")
    return found


def _targets(config: Config) -> Targets:
    return Targets(
        paradigm=runs.paradigm(config),
        order=config.data.order,
        max_phrases=config.data.max_phrases,
        max_phrase=config.data.max_phrase,
        mark_absent=config.data.mark_absent,
        generated=runs.model_class(config).generated,
    )


def _build_once(
    config: Config, vocabulary: Lexicon, targets: Targets, waiting: Collection[int] = ()
) -> None:
    """Build everything once, so that errors of any stage appear before there is a run folder."""
    model = runs.build_model(config, vocabulary)
    model.initialise()
    for number, stage in enumerate(config.train.stage):
        optimiser.build(model, stage, f"train.stage[{number}]")
        if number not in waiting:
            build_objective(config, number, vocabulary, targets)
