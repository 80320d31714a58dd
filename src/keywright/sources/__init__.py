"""Files people have, as documents: one module per kind of file.

Each exposes `recognise(content) -> bool` and `read(content, name) -> Document`. The kind follows
from the content; only Markdown, which any text could be, is told by its file name. Corpora of many
documents (JSON lines and the like) are read by `keywright.data` instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from keywright import parts
from keywright.data.documents import read_documents
from keywright.errors import DataError
from keywright.types import Document

# Tried in this order; plain text is what remains.
KINDS = ("pdf", "html", "markdown", "text")
# What a folder is searched for; files of other kinds in it are not looked at.
SUFFIXES = frozenset({".txt", ".text", ".md", ".markdown", ".pdf", ".html", ".htm", ".xhtml"})
CORPUS_SUFFIXES = frozenset({".jsonl", ".json", ".gz", ".xz", ".zst"})


def read_source(path: Path) -> Iterator[Document]:
    """The document of a file, or the documents of a file of JSON lines."""
    if is_corpus(path):
        yield from read_documents(path)
    else:
        yield read_content(_bytes(path), str(path))


def is_corpus(path: Path) -> bool:
    """Whether a file is one of many documents."""
    return path.suffix.lower() in CORPUS_SUFFIXES or _beginning(path).lstrip()[:1] == b"{"


def read_content(content: bytes, name: str) -> Document:
    """The document in a file's content; `name` becomes its id and stands in error messages."""
    if not content.strip():
        raise DataError("is empty", name)
    for kind in KINDS:
        module = parts.module(__name__, kind)
        if module.recognise(content, name):
            document: Document = module.read(content, name)
            return document
    raise DataError("is a binary file, neither PDF nor text; convert it to one of these", name)


def find(path: Path) -> list[Path]:
    """A file, or the readable files of a folder and its folders, in order of their names.

    Hidden files and folders are left alone, as in shells.
    """
    if not path.exists():
        raise DataError("no such file or folder", path)
    if not path.is_dir():
        return [path]
    found = [
        file
        for file in sorted(path.rglob("*"))
        if file.suffix.lower() in SUFFIXES | {".jsonl"}
        and not any(part.startswith(".") for part in file.relative_to(path).parts)
        and file.is_file()
    ]
    if not found:
        known = ", ".join(sorted(SUFFIXES | {".jsonl"}))
        raise DataError(f"has no file of a kind that can be read ({known})", path)
    return found


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
