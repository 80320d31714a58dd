"""A run folder: everything needed to load a trained model, to resume it and to know its origin.

config.toml         every setting, defaults included
vocabulary.json     see `keywright.lexicon`
retrieval.jsonl     the training documents that a model retrieves from; see `data.retrieval`
run.json            versions, git commit, seed, digests of data and vocabulary
best.safetensors    the weights of the best validation
last.safetensors    the latest checkpoint: weights, optimiser, position
previous.safetensors  the checkpoint before it, in case a disk damages the latest
metrics.jsonl       losses and scores in chronological order
tensorboard/        the same for TensorBoard
"""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, cast

import msgspec

import keywright
from keywright import checkpoint, lexicon
from keywright import config as configs
from keywright.config import Config
from keywright.data import retrieval
from keywright.data.corpus import Digest
from keywright.data.retrieval import Index
from keywright.data.targets import Paradigm
from keywright.decoding.options import STRATEGIES, STRATEGY
from keywright.errors import ConfigError, DataError, KeywrightError
from keywright.files import NOT_JSON, atomic_write, drafted, sha256
from keywright.lexicon import Lexicon
from keywright.nn.model import Model
from keywright.types import Document

CONFIG = "config.toml"
VOCABULARY = "vocabulary.json"
RETRIEVAL = "retrieval.jsonl"
MANIFEST = "run.json"
BEST = "best.safetensors"
LAST = "last.safetensors"
METRICS = "metrics.jsonl"
TENSORBOARD = "tensorboard"

# Training cuts documents shorter to save time; abstracts are rarely longer than this, and BERT-like
# encoders have no more positions.
MAX_SOURCE = 512
_FREE_TO_CHANGE = (
    "data.in_memory",
    "train.minutes",
    "train.checkpoint_minutes",
    "train.threads",
    "train.log_every",
)
_LIBRARIES = ("accelerate", "msgspec", "numpy", "safetensors", "torch")


class RunExistsError(KeywrightError):
    """A run folder that would be overwritten."""


class RunManifest(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run comes from."""

    keywright: str
    versions: dict[str, str]
    commit: str | None  # of keywright's own source, None where it is not in a git repository
    modified: bool  # whether that source had uncommitted changes
    seed: int
    started: str
    vocabulary: str  # its SHA-256
    train: Digest
    valid: Digest
    retrieval: str | None = None  # SHA-256 of the documents that the model retrieves from


@dataclass(frozen=True)
class Run:
    """A trained model and what belongs to it."""

    folder: Path
    config: Config
    vocabulary: Lexicon
    model: Model  # in evaluation mode, on the CPU


def load(folder: str | Path, weights: str | None = None) -> Run:
    """The model of a run folder, with its best weights (or the latest, without validation).

    `weights` names another file of the folder: "last.safetensors".
    """
    folder = Path(folder)
    config, vocabulary, manifest = read(folder)
    file = folder / weights if weights else _weights(folder)
    saved = checkpoint.load(file, manifest.vocabulary)
    model = build_model(config, vocabulary, load_index(folder, manifest))
    checkpoint.restore_model(model, saved.model, file)
    return Run(folder, config, vocabulary, model.eval())


def pretrained(weights: str, form: str) -> Run:
    """A pretrained model of transformers as it is, without a run folder.

    `weights` is a folder or a name on the hub, `form` the format of its sources and phrases.
    """
    table = {"name": "tokenizer", "path": weights, "format": form}
    config = configs.parse(
        {
            "data": {"train": [weights], "max_source": 1, "vocabulary": table},
            "model": {"name": "hf_seq2seq", "weights": weights},
            "train": {"stage": [{"epochs": 1}]},
        }
    )
    config = complete(resolve(config))
    vocabulary = lexicon.build(config.data.vocabulary, ())
    model = build_model(config, vocabulary)
    model.initialise()
    return Run(Path(weights), config, vocabulary, model.eval())


def read(folder: Path) -> tuple[Config, Lexicon, RunManifest]:
    """The config, vocabulary and manifest of a run folder, checked for consistency."""
    if not (folder / MANIFEST).is_file():
        raise DataError(f"is not a run folder: it has no {MANIFEST}", folder)
    try:
        manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=RunManifest)
    except NOT_JSON as error:
        raise DataError(f"does not describe a run: {error}", folder / MANIFEST) from None
    config = configs.load(folder / CONFIG)
    vocabulary = lexicon.load(folder / VOCABULARY)
    if sha256(folder / VOCABULARY) != manifest.vocabulary:
        raise DataError(f"is not the vocabulary that {MANIFEST} describes", folder / VOCABULARY)
    return config, vocabulary, manifest


def files(folder: Path) -> list[Path]:
    """The files of a run folder that `load` reads."""
    named = (folder / name for name in (MANIFEST, CONFIG, VOCABULARY, RETRIEVAL))
    return [*(file for file in named if file.is_file()), _weights(folder)]


def _weights(folder: Path) -> Path:
    """The best weights (or the latest, without validation)."""
    best = folder / BEST
    return best if best.exists() else folder / LAST


def load_index(folder: Path, manifest: RunManifest) -> Index | None:
    """The documents that the model of a run retrieves from, if it does."""
    if manifest.retrieval is None:
        return None
    path = folder / RETRIEVAL
    if not path.is_file():
        raise DataError(f"no such file; the model of {folder} retrieves from it", path)
    if sha256(path) != manifest.retrieval:
        raise DataError(f"is not the retrieval index that {MANIFEST} describes", path)
    return retrieval.load(path)


def create(
    folder: Path,
    config: Config,
    vocabulary: Lexicon,
    train: Digest,
    valid: Digest,
    documents: Iterable[Document] = (),
) -> RunManifest:
    """Create a run folder, which appears under its name when it is complete.

    `documents` are those that a model can retrieve from.
    """
    with drafted(folder) as draft:
        write_whole(draft / CONFIG, configs.to_toml(config).encode())
        lexicon.save(vocabulary, draft / VOCABULARY)
        manifest = describe(config.train.seed, sha256(draft / VOCABULARY), train, valid)
        if model_class(config).retrieves:
            retrieval.save(documents, draft / RETRIEVAL)
            digest = sha256(draft / RETRIEVAL)
            manifest = msgspec.structs.replace(manifest, retrieval=digest)
        write_whole(draft / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest)) + b"\n")
    return manifest


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes from training here; remove files that a killed one left incomplete.

    The operating system releases the lock of a process however it ends. (Windows has no such lock.)
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
    """An error if the folder exists, unless it is empty."""
    if (folder / MANIFEST).exists():
        raise RunExistsError(
            f"{folder}: already contains a run; --resume continues it, --run names another folder"
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RunExistsError(
            f"{folder}: exists and is not an empty folder; --run names another one"
        )


def require_same(config: object, saved: object, folder: Path) -> None:
    """A run is resumed with its own config; only settings without effect on it may differ."""
    ours, theirs = decisive(config), decisive(saved)
    for path in sorted(ours.keys() | theirs.keys()):
        if ours.get(path) != theirs.get(path):
            raise ConfigError(
                f"{path}: is {ours.get(path)!r} now and {theirs.get(path)!r} in {folder}; "
                "resume with the run's own settings or start another run with --run"
            )


def decisive(config: object) -> dict[str, object]:
    """The settings by which runs differ, by their paths: all but those without effect."""
    return {
        path: value
        for path, value in flat(configs.to_table(config)).items()
        if path not in _FREE_TO_CHANGE
    }


def require_same_data(read: Digest, recorded: Digest, setting: str) -> None:
    if read != recorded:
        raise DataError(
            f"{setting}: the documents have changed since the run began "
            f"({read.documents:,} now, {recorded.documents:,} then); start another run"
        )


def resolve(config: Config) -> Config:
    """The config with all defaults of its parts written out; unknown settings are errors."""
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
    vocabulary = configs.resolve_part(
        config.data.vocabulary, lexicon.PACKAGE, "data.vocabulary", lexicon.NOUN
    )
    return replace(
        config,
        data=replace(config.data, vocabulary=vocabulary),
        model=configs.resolve_part(config.model, "keywright.models", "model"),
        train=replace(config.train, stage=stages),
        decode=configs.resolve_part(config.decode, STRATEGIES, "decode", STRATEGY),
    )


def complete(config: Config) -> Config:
    """The resolved config with everything written out that its model reads from elsewhere."""
    module, settings = configs.part(config.model, "keywright.models", "model")
    model: type[Model] = module.build
    table = configs.to_table(model.complete(settings, config.data))
    return replace(config, model=configs.Part(config.model.name, table))


def build_model(config: Config, vocabulary: Lexicon, index: Index | None = None) -> Model:
    module, settings = configs.part(config.model, "keywright.models", "model")
    model: Model = module.build(settings, vocabulary)
    model.index = index
    return model


def paradigm(config: Config) -> Paradigm:
    """one2one, one2seq or one2set: every model is made for one of them."""
    return model_class(config).paradigm


def model_class(config: Config) -> type[Model]:
    model: type[Model] = configs.part(config.model, "keywright.models", "model")[0].build
    return model


def source_length(config: Config) -> int:
    """How many tokens of a document a trained model reads by default."""
    positions: int = config.model.settings.get("positions", MAX_SOURCE)
    return max(config.data.max_source, min(MAX_SOURCE, positions))


def require_positions(config: Config, max_source: int) -> None:
    """An error if a model cannot read sources of this length."""
    positions: int | None = config.model.settings.get("positions")
    if positions is not None and max_source > positions:
        raise ConfigError(
            f"max_source: {max_source} is more than the {positions} tokens that the encoder can "
            "read"
        )


def describe(seed: int, vocabulary: str, train: Digest, valid: Digest) -> RunManifest:
    commit, modified = _commit()
    return RunManifest(
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


def _commit() -> tuple[str | None, bool]:
    """The commit of the source code, and whether it has been changed since."""
    source = Path(keywright.__file__).parent
    git = ["git", "-C", str(source)]
    # An installed copy may lie inside another project's repository, which is not of interest.
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


def flat(table: Any, path: str = "") -> dict[str, Any]:
    """Every setting of a table by its path, such as `train.stage[0].clip`."""
    if isinstance(table, dict):
        pairs = [(f"{path}.{key}" if path else key, inner) for key, inner in table.items()]
    elif isinstance(table, list) and table and isinstance(table[0], dict):
        pairs = [(f"{path}[{number}]", inner) for number, inner in enumerate(table)]
    else:
        return {path: table}
    return {key: value for name, inner in pairs for key, value in flat(inner, name).items()}


def write_whole(path: Path, content: bytes) -> None:
    with atomic_write(path, "wb") as file:
        cast(IO[bytes], file).write(content)
