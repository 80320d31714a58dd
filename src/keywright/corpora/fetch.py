"""Fetch published corpora: `corpora.toml` says where they are.

An interrupted download continues where it stopped, if the server can. A file gets its name when it
is complete, so that whatever has the name of a file is whole.
"""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from keywright import config
from keywright.data.documents import read_documents
from keywright.errors import DataError, UnknownNameError
from keywright.files import exclusive, sha256

CATALOGUE = "corpora.toml"
UNFINISHED = ".unfinished"
SECONDS = 60  # without an answer
_CHUNK = 1 << 20
_PARTIAL, _UNSATISFIABLE = 206, 416

Watch = Callable[[int], None]
"""Told how many bytes of the file are there."""


@dataclass(frozen=True)
class File:
    name: str
    megabytes: float  # about
    documents: int | None = None  # as its publisher states
    sha256: str | None = None


@dataclass(frozen=True)
class Corpus:
    title: str
    licence: str
    homepage: str
    address: str | None = None  # of the folder of its files; None: there is no plain address
    files: tuple[File, ...] = ()
    hint: str = ""  # how to get a corpus without an address


@dataclass(frozen=True)
class Fetched:
    path: Path
    sha256: str
    documents: int
    expected: int | None  # documents


@cache
def catalogue() -> Mapping[str, Corpus]:
    place = resources.files(__package__) / CATALOGUE
    table = config.parse_toml(place.read_text(encoding="utf-8"), CATALOGUE)
    return {name: config.fill(Corpus, entry, name) for name, entry in table.items()}


def choose(name: str, files: Sequence[str] = ()) -> tuple[Corpus, tuple[File, ...]]:
    """A corpus, and those of its files that are named (all if none is)."""
    known = catalogue()
    if name not in known:
        raise UnknownNameError("corpus", name, known)
    corpus = known[name]
    if corpus.address is None:
        hint = corpus.hint or "get it by hand"
        raise DataError(f"{name} has no plain address; {hint}: {corpus.homepage}")
    names = [file.name for file in corpus.files]
    for wanted in files:
        if wanted not in names:
            raise UnknownNameError(f"file of {name}", wanted, names)
    return corpus, tuple(file for file in corpus.files if not files or file.name in files)


def fetch(corpus: Corpus, file: File, folder: Path, watch: Watch = lambda size: None) -> Fetched:
    """Fetch a file unless it is there, and count its documents. Its checksum must be right."""
    path = folder / file.name
    folder.mkdir(parents=True, exist_ok=True)
    with exclusive(path):
        if not path.exists():
            unfinished = path.with_name(path.name + UNFINISHED)
            _download(f"{corpus.address}/{file.name}", unfinished, path, watch)
            _require(file, unfinished)
            unfinished.rename(path)
    documents = sum(1 for _ in read_documents(path))
    return Fetched(path, sha256(path), documents, file.documents)


def _require(file: File, unfinished: Path) -> None:
    found = sha256(unfinished)
    if file.sha256 is not None and found != file.sha256:
        unfinished.unlink()
        raise DataError(
            f"what was fetched has SHA-256 {found} instead of {file.sha256}; it was removed. "
            "Try again, or ask its publisher whether the file has changed",
            file.name,
        )


def _download(address: str, unfinished: Path, path: Path, watch: Watch) -> None:
    done = unfinished.stat().st_size if unfinished.exists() else 0
    request = urllib.request.Request(address, headers={"User-Agent": "keywright"})
    if done:
        request.add_header("Range", f"bytes={done}-")
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            _save(answer, unfinished, done if answer.status == _PARTIAL else 0, watch)
    except urllib.error.HTTPError as error:
        if error.code == _UNSATISFIABLE and done:  # nothing is left of it
            return
        raise _failed(f"{error.code} {error.reason}", address, path) from None
    except urllib.error.URLError as error:
        raise _failed(str(error.reason), address, path) from None
    except (http.client.HTTPException, TimeoutError, ConnectionError) as error:
        raise _failed(str(error) or type(error).__name__, address, path) from None


def _save(answer: http.client.HTTPResponse, unfinished: Path, done: int, watch: Watch) -> None:
    """Add the answer to what is there. An answer that ends early is an error."""
    size = None if answer.length is None else done + answer.length
    with unfinished.open("ab" if done else "wb") as file:
        while chunk := answer.read(_CHUNK):
            done += file.write(chunk)
            watch(done)
    if size is not None and done < size:
        raise http.client.IncompleteRead(b"", size - done)


def _failed(reason: str, address: str, path: Path) -> DataError:
    return DataError(
        f"cannot be fetched from {address}: {reason}; the same command continues, or save the "
        "file here by hand",
        path,
    )
