"""Test sets, the systems compared on them, and a folder that keeps their predictions.

Predictions are identified by everything that they depend on (files of the model, settings, versions
of libraries, documents), so that an interrupted benchmark continues where it stopped and another
model starts from the beginning.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from itertools import chain, islice
from pathlib import Path
from typing import Any

import msgspec

import keywright
from keywright import predictor
from keywright.data.documents import read_documents
from keywright.data.predictions import read_predictions
from keywright.data.resumable import resumable_lines
from keywright.data.writers import prediction_line
from keywright.errors import KeywrightError
from keywright.extractors import tfidf
from keywright.progress import progress
from keywright.types import Document, Prediction

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
CORPORA = ("kp20k-1k", "inspec", "krapivin", "nus", "semeval")
PEERS = ("yake", "keybert", "textrank", "tfidf")
# Texts of other kinds, and abstracts that were not prepared: capitals, marks and numbers are there.
GENRES = (
    "valid/news",
    "valid/web",
    "valid/qa",
    "500n-kpcrowd",
    "kdd",
    "www",
    "semeval2017",
)
GENRE_PEERS = (*PEERS, "topicrank", "multipartiterank")
TRAINING = ("cs", "general", "news", "web", "qa")
# Documents of the training set, which is shuffled: enough for the frequencies of common words.
COUNTED = 20_000
_LIBRARIES = {"yake": ("yake",), "keybert": ("keybert", "sentence-transformers")}


@dataclass(frozen=True)
class Corpus:
    name: str
    documents: tuple[Document, ...]

    @property
    def protocol(self) -> str:
        """SemEval's gold is already stemmed, and stemming twice would change it."""
        return "chan19:targets_stemmed=true" if self.name == "semeval" else "chan19"


@dataclass(frozen=True)
class System:
    """A predictor, made only when it is needed; `key` is everything that it depends on."""

    name: str
    make: Callable[[], predictor.Predictor]
    key: Mapping[str, Any]


def read_corpora(
    data: Path, names: Sequence[str], most: int | None, skipped: int = 0
) -> list[Corpus]:
    """The first documents of test sets, after those that are `skipped`.

    A name with a folder is that of another set of `data`.
    """
    end = None if most is None else skipped + most
    return [
        Corpus(name, tuple(islice(read_documents(_path(data, name), need_gold=True), skipped, end)))
        for name in names
    ]


def _path(data: Path, name: str) -> Path:
    folder, _, file = name.rpartition("/")
    return _file(data / (folder or "test"), file)


def _file(folder: Path, name: str) -> Path:
    found = sorted(folder.glob(f"{name}.jsonl*"))
    if not found:
        raise KeywrightError(
            f"{folder}: has neither {name}.jsonl nor {name}.jsonl.xz; choose the folder with --data"
        )
    return found[0]


def models(names: Sequence[str]) -> list[System]:
    """What `predictor.load` accepts, perhaps with settings: `default:top=10`.

    Folders are named by their last part if that is unique.
    """
    return [
        System(_short(name, names), lambda name=name: load(name), model_key(name)) for name in names
    ]


def load(name: str) -> predictor.Predictor:
    model, settings = _parts(name)
    return predictor.load(model, settings=settings)


def _parts(name: str) -> tuple[str, list[str]]:
    model, _, settings = name.rpartition(":")
    return (model, settings.split(",")) if model and "=" in settings else (name, [])


def _short(name: str, names: Sequence[str]) -> str:
    end = Path(name).name
    return end if sum(Path(other).name == end for other in names) == 1 else name


def model_key(name: str) -> dict[str, Any]:
    model, settings = _parts(name)
    folder = predictor.DEFAULT_FOLDER if model == predictor.DEFAULT else Path(model)
    files = sorted(file for file in folder.glob("*") if file.is_file())
    key = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    found: dict[str, Any] = key or _extractor_key(model)
    return {**found, "settings": settings} if settings else found


def peers(
    names: Sequence[str],
    data: Path,
    counted: int = COUNTED,
    training: Sequence[str] = TRAINING[:1],
) -> list[System]:
    return [
        _tfidf(data, counted, training)
        if name == "tfidf"
        else System(name, lambda name=name: predictor.load(name), _extractor_key(name))
        for name in names
    ]


def _extractor_key(name: str) -> dict[str, Any]:
    libraries = _LIBRARIES.get(name, ())
    return {"extractor": name, **{library: _version(library) for library in libraries}}


def _version(library: str) -> str | None:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return None  # predictions of any version will do


def _tfidf(data: Path, counted: int, training: Sequence[str]) -> System:
    """With document frequencies of training sets, which contain no test document."""
    files = [data / "train" / f"{name}.jsonl.xz" for name in training]
    each = counted // len(files)

    def make() -> tfidf.TfIdf:
        config = tfidf.Config()
        read = chain.from_iterable(islice(read_documents(file), each) for file in files)
        documents = progress(read, "counting words", each * len(files))
        return tfidf.TfIdf(config, tfidf.count(documents, config))

    names = ", ".join(file.name for file in files)
    return System("tfidf", make, {"extractor": "tfidf", "train": names, "counted": counted})


def predictions(
    system: System, corpora: Sequence[Corpus], cache: Path | None
) -> dict[str, list[Prediction]]:
    """The predictions for each corpus; the system is made at most once, when it is needed."""
    made: list[predictor.Predictor] = []

    def once() -> predictor.Predictor:
        if not made:
            made.append(system.make())
        return made[0]

    return {corpus.name: _predicted(system, once, corpus, cache) for corpus in corpora}


def _predicted(
    system: System, make: Callable[[], predictor.Predictor], corpus: Corpus, cache: Path | None
) -> list[Prediction]:
    what, count = f"{system.name}, {corpus.name}", len(corpus.documents)
    if cache is None:
        return list(progress(make().predict(corpus.documents), what, count))
    origin = {
        "keywright": keywright.__version__,
        "system": dict(system.key),
        "documents": _digest(corpus.documents),
    }
    cache.mkdir(parents=True, exist_ok=True)
    name = f"{corpus.name}-{system.name}".replace("/", "_")
    path = cache / f"{name}-{_digest(origin)[:12]}.jsonl"
    if not path.exists():
        with resumable_lines(path, origin, resume=True) as lines:
            rest = predictor.after(make(), corpus.documents, lines.done)
            for prediction in progress(rest, what, count - lines.done):
                lines.append(prediction_line(prediction, lines.done + 1))
    return list(read_predictions(path))


def _digest(value: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(value)).hexdigest()


def reported(main: Callable[[], None]) -> None:
    """Run a benchmark; an error that the user can fix is one line."""
    try:
        main()
    except KeywrightError as error:
        sys.exit(f"error: {error}")


def pairs(corpus: Corpus, made: Sequence[Prediction]) -> Iterator[tuple[Document, Prediction]]:
    return zip(corpus.documents, made, strict=True)
