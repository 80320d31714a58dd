"""Readers for users' own files: one module per kind of file.

Each exposes `recognise(content, name) -> bool` and `read(content, name) -> Document`. The kind is
recognised from the content; only Markdown, which any text could be, by its file name. Files of many
documents are tables (`_rows`) and corpora such as JSON lines, which `keywright.data` reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from keywright import parts
from keywright.data import tabular
from keywright.data.documents import read_documents
from keywright.data.table import Columns
from keywright.errors import DataError, KeywrightError
from keywright.sources import _rows
from keywright.types import Document

# Tried in this order; plain text comes last.
KINDS = ("pdf", "docx", "epub", "html", "markdown", "text")
# The files to read from a folder; all others are ignored.
SUFFIXES = frozenset(
    {".txt", ".text", ".md", ".markdown", ".pdf", ".docx", ".epub", ".html", ".htm", ".xhtml"}
)
# A `Path` has only one of the two slashes. A single letter is a drive of Windows.
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):/+", re.IGNORECASE)
MAX_REASON = 200  # characters of what a library says about a file
CORPUS_SUFFIXES = frozenset({".jsonl", ".ndjson", ".json", ".gz", ".xz", ".zst"})


def read_source(
    path: Path, columns: Columns | None = None, format: str | None = None
) -> Iterator[Document]:
    """The document of a file, or the documents of a table or a corpus.

    `columns` are those of tables; a JSON-lines file is a table if they are given. `format` is that
    of corpora, if it is not to be recognised.
    """
    if format is not None:
        yield from read_documents(path, format=format)
    elif is_table(path, columns):
        yield from _rows.documents(path, columns or Columns())
    elif columns is not None:
        raise DataError("is not a table, so --column and --title-column do not apply", path)
    elif is_corpus(path):
        yield from read_documents(path)
    else:
        yield read_content(_bytes(path), str(path))


def is_table(path: Path, columns: Columns | None = None) -> bool:
    """Whether the rows of a file are documents."""
    lines = tabular.suffix(path) in (".jsonl", ".ndjson")
    return tabular.is_table(path) and (columns is not None or not lines)


def is_corpus(path: Path) -> bool:
    """Whether a file contains many documents."""
    many = path.suffix.lower() in CORPUS_SUFFIXES or is_table(path)
    return many or _beginning(path).lstrip()[:1] == b"{"


def read_content(content: bytes, name: str) -> Document:
    """The document in a file's content; `name` becomes its id and is shown in error messages."""
    if not content.strip():
        raise DataError("is empty", name)
    for kind in KINDS:
        module = parts.module(__name__, kind)
        if module.recognise(content, name):
            return _read(module, content, name)
    raise DataError("is a binary file, neither PDF, docx, EPUB nor text; convert it", name)


def _read(module: ModuleType, content: bytes, name: str) -> Document:
    """The document that a reader finds; whatever its library raises becomes the file's error."""
    try:
        document: Document = module.read(content, name)
    except KeywrightError:
        raise
    except (MemoryError, RecursionError):
        raise DataError("needs too much memory to read", name) from None
    except Exception as error:
        kind = module.__name__.rpartition(".")[2]
        reason = " ".join(str(error).split())[:MAX_REASON] or type(error).__name__
        raise DataError(f"cannot be read as {kind}: it is damaged ({reason})", name) from error
    return document


def find(path: Path) -> list[Path]:
    """A file, or the readable files of a folder and its subfolders, sorted by name.

    Hidden files and folders are skipped, as in shells.
    """
    try:
        if not path.exists():
            _refuse_address(str(path))
            raise DataError("no such file or folder", path)
        if not path.is_dir():
            return [path]
    except OSError as error:  # such as a name that is too long
        _refuse_address(str(path))
        raise DataError(f"cannot be read: {error.strerror}", path) from None
    found = [
        file
        for file in sorted(path.rglob("*"))
        if file.suffix.lower() in SUFFIXES | {".jsonl"}
        and not any(part.startswith(".") for part in file.relative_to(path).parts)
        and file.is_file()
    ]
    if not found:
        known = ", ".join(sorted(SUFFIXES | {".jsonl"}))
        raise DataError(f"contains no files that can be read ({known})", path)
    return found


def _refuse_address(given: str) -> None:
    found = _ADDRESS.match(given)
    if found is None:
        return
    rest = given[found.end() :]
    if found[1].lower() == "file":
        raise DataError("is an address; give the path, without file://", f"file:///{rest}")
    address = f"{found[1]}://{rest}"
    if found[1].lower() in ("http", "https", "ftp"):
        hint = f"is a web address; download it first, for example with: curl -LO {address}"
        raise DataError(hint, address)
    raise DataError("is an address; copy the file to this machine first", address)


def _beginning(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(1024)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", path) from None


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", path) from None
