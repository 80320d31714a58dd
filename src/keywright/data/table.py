"""Documents from a table with a header: one row per document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from keywright.data import tabular
from keywright.errors import DataError
from keywright.types import Document

SUFFIXES = (".csv", ".tsv", ".xlsx", ".xlsm", ".parquet")
MOST_SHOWN = 20  # columns in an error message
TITLES = ("title",)
TEXTS = ("text", "body", "abstract", "question", "content", "description")
KEYPHRASES = ("keyphrases", "keywords", "tags", "keyphrase", "keyword")
_SEPARATORS = ("|", ";", ",")  # of keyphrases in a cell: the first that a cell contains


@dataclass(frozen=True)
class Columns:
    """The columns of a table by name; None stands for the usual names."""

    text: str | None = None
    title: str | None = None
    keyphrases: str | None = None
    separator: str | None = None  # between keyphrases; by default |, ; or , if a cell has it


def is_table(path: str | Path) -> bool:
    return tabular.suffix(path) in SUFFIXES


def read_table(path: str | Path, columns: Columns) -> Iterator[Document]:
    """The documents of a table with keyphrases, streamed."""
    header, rows = tabular.read(path)
    text = place(header, columns.text, TEXTS, "text", path)
    title = place(header, columns.title, TITLES, "title", path, needed=columns.title is not None)
    keyphrases = place(header, columns.keyphrases, KEYPHRASES, "keyphrases", path)
    for number, row in rows:
        cells = [cell_text(cell).strip() for cell in row]
        if any(cells):
            yield Document(
                id=str(number),
                title="" if title is None else cells[title],
                body=cells[text or 0],
                keyphrases=_split(cells[keyphrases or 0], columns.separator),
            )


def cell_text(value: tabular.Value) -> str:
    """A value of a table as text; that of a missing one is empty."""
    missing = value is None or value != value  # NaN is not equal to itself
    return "" if missing else value if isinstance(value, str) else str(value)


def place(
    header: Sequence[str],
    name: str | None,
    usual: Sequence[str],
    what: str,
    path: str | Path,
    *,
    needed: bool = True,
    option: str | None = None,
) -> int | None:
    """The column called `name`, or the only one with a usual name."""
    wanted = usual if name is None else (name,)
    lower = [cell.lower() for cell in header]
    found = [at for at, cell in enumerate(lower) if cell in [other.lower() for other in wanted]]
    if len(found) == 1 or (not found and not needed):
        return found[0] if found else None
    problem = "several columns" if found else "no column"
    called = f"called {name!r}" if name is not None else f"for {what} ({', '.join(usual)})"
    raise DataError(
        f"has {problem} {called}; its columns are {_listed(header)}; name one with "
        f"{option or f'--{what}-column'}",
        path,
        1,
    )


def _listed(header: Sequence[str]) -> str:
    shown = ", ".join(map(repr, header[:MOST_SHOWN]))
    more = len(header) - MOST_SHOWN
    return f"{shown} and {more:,} more" if more > 0 else shown


def _split(cell: str, separator: str | None) -> tuple[str, ...]:
    own = separator or next((mark for mark in _SEPARATORS if mark in cell), None)
    pieces = [cell] if own is None else cell.split(own)
    return tuple(piece.strip() for piece in pieces if piece.strip())
