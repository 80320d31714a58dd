"""A run folder: all that is needed to load a trained model, to resume it, and to tell its origin.

config.toml         every setting, defaults spelt out
vocabulary.json
run.json            versions, git commit, seed, hashes of data and vocabulary
best.safetensors    the weights of the best validation
last.safetensors    the latest checkpoint: weights, optimiser, position
metrics.jsonl       losses and scores as they came
tensorboard/        the same for TensorBoard
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, cast

import msgspec
from torch import nn

import keywright
from keywright import config as configs
from keywright.config import Config
from keywright.data.vocab import Lexicon
from keywright.errors import ConfigError, DataError, KeywrightError
from keywright.files import atomic_write
from keywright.training import checkpoint
from keywright.training.corpus import Digest
from keywright.types import Document

CONFIG = "config.toml"
VOCABULARY = "vocabulary.json"
MANIFEST = "run.json"
BEST = "best.safetensors"
LAST = "last.safetensors"
METRICS = "metrics.jsonl"
TENSORBOARD = "tensorboard"

# `data.vocabulary` -> the class that builds and loads it; imported when chosen.
_VOCABULARIES = {
    "words": ("keywright.data.vocab", "Vocabulary"),
    "subwords": ("keywright.data.subword", "SubwordVocabulary"),
}
_FREE_TO_CHANGE = ("train.minutes", "train.checkpoint_minutes", "train.threads", "train.log_every")
_LIBRARIES = ("accelerate", "msgspec", "nltk", "numpy", "safetensors", "torch")


class RunExistsError(KeywrightError):
    """A run folder that would be overwritten."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run comes from."""

    keywright: str
    versions: dict[str, str]
    commit: str | None  # of keywright's own source, None where it is not in a git repository
    modified: bool  # whether that source had changes that were not committed
    seed: int
    started: str
    vocabulary: str  # its SHA-256
    train: Digest
    valid: Digest


@dataclass(frozen=True)
class Run:
    """A trained model and what belongs to it."""

    folder: Path
    config: Config
    vocabulary: Lexicon
    model: nn.Module  # in evaluation mode, on the CPU


def load(folder: str | Path, weights: str | None = None) -> Run:
    """The model of a run folder, with its best weights (the latest where none were validated).

    `weights` names another file of the folder: "last.safetensors".
    """
    folder = Path(folder)
    config, vocabulary, manifest = read(folder)
    file = folder / (weights or (BEST if (folder / BEST).exists() else LAST))
    saved = checkpoint.load(file, manifest.vocabulary)
    model = build_model(config, vocabulary)
    checkpoint.restore_model(model, saved.model, file)
    return Run(folder, config, vocabulary, model.eval())


def read(folder: Path) -> tuple[Config, Lexicon, Manifest]:
    """What a run folder says about its run, checked for being of one piece."""
    if not (folder / MANIFEST).is_file():
        raise DataError(f"is not a run folder: it has no {MANIFEST}", folder)
    try:
        manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)
    except msgspec.DecodeError as error:
        raise DataError(f"is not the description of a run: {error}", folder / MANIFEST) from None
    config = configs.load(folder / CONFIG)
    vocabulary = _vocabulary_class(config).load(folder / VOCABULARY)
    if sha256(folder / VOCABULARY) != manifest.vocabulary:
        raise DataError(f"is not the vocabulary that {MANIFEST} describes", folder / VOCABULARY)
    return config, vocabulary, manifest


def create(
    folder: Path, config: Config, vocabulary: Lexicon, train: Digest, valid: Digest
) -> Manifest:
    """A new run folder, which appears when it is complete."""
    draft = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    try:
        draft.mkdir(parents=True)
        _write(draft / CONFIG, configs.to_toml(config).encode())
        vocabulary.save(draft / VOCABULARY)
        manifest = _describe(config.train.seed, sha256(draft / VOCABULARY), train, valid)
        _write(draft / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest)) + b"\n")
        draft.rename(folder)  # fails unless nothing, or an empty folder, is there
    except OSError as error:
        raise DataError(f"cannot be made: {error.strerror}", folder) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return manifest


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Let no other process train here meanwhile; what a killed one left half written is removed.

    The system itself opens the lock of a process that ends, however it ends. (Windows has none.)
    """
    with (folder / MANIFEST).open("rb") as file:
        if sys.platform != "win32":
            import fcntl

            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RunExistsError(f"{folder}: another process is training here") from None
        for unfinished in folder.glob(".*.part"):
            unfinished.unlink()
        yield


def require_free(folder: Path) -> None:
    """An error where something stands already; an empty folder is nothing."""
    if (folder / MANIFEST).exists():
        raise RunExistsError(
            f"{folder}: a run is there already; --resume continues it, --run names another folder"
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RunExistsError(
            f"{folder}: exists and is not an empty folder; --run names another one"
        )


def require_same(config: Config, saved: Config, folder: Path) -> None:
    """A run is resumed under its own config; only what cannot change its outcome may differ."""
    ours, theirs = _flat(configs.to_table(config)), _flat(configs.to_table(saved))
    for path in sorted(ours.keys() | theirs.keys()):
        if ours.get(path) != theirs.get(path) and path not in _FREE_TO_CHANGE:
            raise ConfigError(
                f"{path}: is {ours.get(path)!r} now and {theirs.get(path)!r} in {folder}; "
                "resume with the run's own settings or start another run with --run"
            )


def require_same_data(read: Digest, recorded: Digest, setting: str) -> None:
    if read != recorded:
        raise DataError(
            f"{setting} holds other documents than when the run began "
            f"({read.documents:,} now, {recorded.documents:,} then); start another run"
        )


def resolve(config: Config) -> Config:
    """The config with every default of its parts spelt out; unknown settings are errors."""
    stages = tuple(
        replace(
            stage,
            objective=configs.resolve_part(
                stage.objective,
                "keywright.training.objectives",
                f"train.stage[{number}].objective",
            ),
        )
        for number, stage in enumerate(config.train.stage)
    )
    return replace(
        config,
        model=configs.resolve_part(config.model, "keywright.models", "model"),
        train=replace(config.train, stage=stages),
        decode=configs.resolve_part(config.decode, "keywright.decoding", "decode"),
    )


def build_model(config: Config, vocabulary: Lexicon) -> nn.Module:
    module, settings = configs.part(config.model, "keywright.models", "model")
    model: nn.Module = module.build(settings, vocabulary)
    return model


def paradigm(config: Config) -> Any:
    """one2one, one2seq or one2set: a model is made for one of them."""
    return configs.part(config.model, "keywright.models", "model")[0].PARADIGM


def build_vocabulary(config: Config, documents: Iterable[Document]) -> Lexicon:
    built: Lexicon = _vocabulary_class(config).build(documents, config.data.vocabulary_size)
    return built


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _describe(seed: int, vocabulary: str, train: Digest, valid: Digest) -> Manifest:
    commit, modified = _commit()
    return Manifest(
        keywright=keywright.__version__,
        versions={
            "python": platform.python_version(),
            **{name: importlib.metadata.version(name) for name in _LIBRARIES},
        },
        commit=commit,
        modified=modified,
        seed=seed,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        vocabulary=vocabulary,
        train=train,
        valid=valid,
    )


def _vocabulary_class(config: Config) -> Any:
    module, name = _VOCABULARIES[config.data.vocabulary]
    return getattr(importlib.import_module(module), name)


def _commit() -> tuple[str | None, bool]:
    """The commit of the source that runs, and whether it had been changed since."""
    source = Path(keywright.__file__).parent
    git = ["git", "-C", str(source)]
    # An installed copy inside somebody else's repository is not that repository's commit.
    tracked = _output([*git, "ls-files", "--error-unmatch", "__init__.py"])
    if tracked is None:
        return None, False
    return _output([*git, "rev-parse", "HEAD"]), bool(_output([*git, "status", "-s", "."]))


def _output(command: list[str]) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def _flat(table: Any, path: str = "") -> dict[str, Any]:
    if isinstance(table, dict):
        pairs = [(f"{path}.{key}" if path else key, inner) for key, inner in table.items()]
    elif isinstance(table, list) and table and isinstance(table[0], dict):
        pairs = [(f"{path}[{number}]", inner) for number, inner in enumerate(table)]
    else:
        return {path: table}
    return {key: value for name, inner in pairs for key, value in _flat(inner, name).items()}


def _write(path: Path, content: bytes) -> None:
    with atomic_write(path, "wb") as file:
        cast(IO[bytes], file).write(content)
