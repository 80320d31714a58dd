"""Before training: check everything, read everything, begin the run folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from torch import nn

from keywright.config import Config
from keywright.data.targets import Targets
from keywright.data.vocab import Lexicon
from keywright.errors import ConfigError, DataError
from keywright.training import corpus, optimiser, run, validate
from keywright.training.corpus import Corpus
from keywright.training.processes import Processes
from keywright.types import Document


@dataclass(frozen=True)
class Setup:
    """What is trained on what."""

    config: Config
    folder: Path
    vocabulary: Lexicon
    vocabulary_hash: str
    targets: Targets
    training: list[Document]
    valid: list[Document]


def check(config: Config) -> Config:
    """The config with all its parts resolved; what cannot be is an error."""
    config = run.resolve(config)
    paradigm = run.paradigm(config)
    if config.data.mark_absent and paradigm != "one2seq":
        raise ConfigError(f"data.mark_absent: has no meaning for {paradigm} models")
    validate.check(config, paradigm)
    return config


def set_up(config: Config, folder: Path, begun: bool, processes: Processes) -> Setup:
    """Read the documents of a checked config, and begin the run folder unless it has been."""
    if not begun and processes.main:
        run.require_free(folder)
    targets = Targets(
        paradigm=run.paradigm(config),
        order=config.data.order,
        max_phrases=config.data.max_phrases,
        max_phrase=config.data.max_phrase,
        mark_absent=config.data.mark_absent,
    )
    valid = _read("data.valid", config.data.valid, config.data.valid_documents, targets)
    training = _read("data.train", config.data.train, config.data.train_documents, targets)
    if not begun and processes.main:
        vocabulary = run.build_vocabulary(config, training.documents)
        _rehearse(config, vocabulary)
        run.create(folder, config, vocabulary, training.digest, valid.digest)
    processes.wait()
    _, vocabulary, manifest = run.read(folder)
    run.require_same_data(training.digest, manifest.train, "data.train")
    run.require_same_data(valid.digest, manifest.valid, "data.valid")
    return Setup(
        config=config,
        folder=folder,
        vocabulary=vocabulary,
        vocabulary_hash=manifest.vocabulary,
        targets=targets,
        training=training.documents,
        valid=valid.documents,
    )


def initialise(model: nn.Module) -> None:
    """Let a new model that starts from pretrained weights fetch them."""
    start = getattr(model, "initialise", None)
    if start is not None:
        start()


def _read(name: str, paths: Sequence[str], most: int | None, targets: Targets) -> Corpus:
    found = corpus.read(paths, most)
    if paths and not any(map(targets.any, found.documents)):
        raise DataError(f"{name}: none of its documents has a keyphrase that could be learnt")
    return found


def _rehearse(config: Config, vocabulary: Lexicon) -> None:
    """What could not be begun, or in what stage, is said before there is a run folder."""
    model = run.build_model(config, vocabulary)
    initialise(model)
    for number, stage in enumerate(config.train.stage):
        optimiser.build(model, stage, f"train.stage[{number}]")
