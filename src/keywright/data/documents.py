"""Documents from any format: `for document in read_documents("test.jsonl.xz"): ...`"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from keywright import parts
from keywright.data import recognise
from keywright.errors import DataError
from keywright.files import Bad, fail
from keywright.types import Document

READERS = "keywright.data.readers"


def formats() -> list[str]:
    return parts.names(READERS)


def read_documents(
    path: str | Path, *, format: str | None = None, need_gold: bool = False
) -> Iterator[Document]:
    """The documents of a file, streamed.

    The format is recognised from the first records unless `format` names it. With `need_gold`, a
    document without gold keyphrases is an error; an empty list of keyphrases is not.
    """
    numbered = numbered_documents(path, format=format, need_gold=need_gold)
    return (document for _, document in numbered)


def numbered_documents(
    path: str | Path, *, format: str | None = None, need_gold: bool = False, bad: Bad = fail
) -> Iterator[tuple[int, Document]]:
    """The same with line numbers; if `bad` returns, reading continues with the next document."""
    reader = recognise.reader(READERS, "document", path, format)
    documents = recognise.at_least_one(reader.read(path, bad), "documents", path, bad)
    return _with_gold(documents, path, bad) if need_gold else documents


def _with_gold(
    documents: Iterator[tuple[int, Document]], path: str | Path, bad: Bad
) -> Iterator[tuple[int, Document]]:
    for number, document in documents:
        if document.keyphrases is None:
            bad(DataError("has no gold keyphrases (no field, no target file)", path, number))
        else:
            yield number, document
