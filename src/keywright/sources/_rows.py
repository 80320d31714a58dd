"""The rows of a table as documents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from keywright.data import tabular
from keywright.data.table import TEXTS, TITLES, Columns, cell_text, place
from keywright.sources import text
from keywright.types import Document


def documents(path: Path, columns: Columns) -> Iterator[Document]:
    """One document per row, streamed; a row without text is an empty document.

    Without a column of titles the first line of a text may be its title, as in a text file.
    """
    header, rows = tabular.read(path)
    body = place(header, columns.text, TEXTS, "text", path, option="--column") or 0
    title = place(header, columns.title, TITLES, "title", path, needed=columns.title is not None)
    for number, row in rows:
        name, words = f"{path}:{number}", cell_text(row[body]).strip()
        if title is None:
            yield text.document(words, name)
        else:
            yield Document(id=name, title=cell_text(row[title]).strip(), body=words)
