"""Documents from a table (.csv, .tsv) with a header: one row per document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from keywright import delimited
from keywright.errors import DataError
from keywright.files import read_lines
from keywright.types import Document

SUFFIXES = (".csv", ".tsv")
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
    return Path(path).suffix.lower() in SUFFIXES


def read_table(path: str | Path, columns: Columns) -> Iterator[Document]:
    """The documents of a table with keyphrases, streamed."""
    delimiter = "\t" if Path(path).suffix.lower() == ".tsv" else ","
    rows = delimited.rows((line + "\n" for _, line in read_lines(path)), delimiter, path)
    header = [cell.strip() for _, row in [next(rows, (1, []))] for cell in row]
    if not any(header):
        raise DataError("is empty or starts with an empty line; a table needs a header", path, 1)
    text = _place(header, columns.text, TEXTS, "text", path)
    title = _place(header, columns.title, TITLES, "title", path, needed=columns.title is not None)
    keyphrases = _place(header, columns.keyphrases, KEYPHRASES, "keyphrases", path)
    for number, row in rows:
        if not any(map(str.strip, row)):
            continue
        if len(row) != len(header):
            raise DataError(
                f"has {len(row)} cells, but the header has {len(header)}; put cells that contain "
                f"{delimiter!r} or line breaks in double quotes",
                path,
                number,
            )
        yield Document(
            id=str(number),
            title="" if title is None else row[title].strip(),
            body=row[text or 0].strip(),
            keyphrases=_split(row[keyphrases or 0], columns.separator),
        )


def _place(
    header: Sequence[str],
    name: str | None,
    usual: Sequence[str],
    what: str,
    path: str | Path,
    *,
    needed: bool = True,
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
        f"has {problem} {called}; its columns are {', '.join(map(repr, header))}; name one with "
        f"--{what}-column",
        path,
        1,
    )


def _split(cell: str, separator: str | None) -> tuple[str, ...]:
    own = separator or next((mark for mark in _SEPARATORS if mark in cell), None)
    pieces = [cell] if own is None else cell.split(own)
    return tuple(piece.strip() for piece in pieces if piece.strip())
