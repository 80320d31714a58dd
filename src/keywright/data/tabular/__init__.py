"""Tables with a header: one module per kind of file, found by the suffix of its name.

Lists of references are tables, too, with the columns id, title, abstract and keywords.

Each exposes `read(path)`, the header and the numbered rows, streamed, and, if files of its kind can
be written, `write(path, reading, added)`. `extend(source, output, added)`, where a module has it,
does the same for a source of its own kind, and keeps what a conversion would lose.

A kind whose files can be read from the middle also exposes `cut(path, rows)`, the file in pieces of
at most that many rows, and `read_piece(path, columns, piece)`, the rows of one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from keywright import parts
from keywright.errors import DataError
from keywright.files import first_lines

Value = object
Row = tuple[int, Sequence[Value]]
"""The number of a row, for error messages, and its values; None is a missing one."""
Reading = tuple[list[str], Iterator[Row]]


CheckedRow = tuple[int, Sequence[Value] | DataError]
"""A row, or what is wrong with it."""


class Piece(NamedTuple):
    """Consecutive rows of a file: `place` says where they begin, after `line` lines."""

    place: int
    line: int
    rows: int


class Added(NamedTuple):
    """Columns to add to a table: the keyphrases of every row, and their probabilities, if any."""

    names: tuple[str, str]
    rows: Iterable[tuple[Sequence[str], Sequence[float | None] | None]]


KINDS = {
    ".bib": "bibtex",
    ".json": "csl",
    ".ris": "ris",
    ".csv": "delimited",
    ".tsv": "delimited",
    ".jsonl": "jsonlines",
    ".ndjson": "jsonlines",
    ".parquet": "parquet",
    ".xlsx": "excel",
    ".xlsm": "excel",
}
_COMPRESSED = (".gz", ".xz", ".zst")


def suffix(path: str | Path) -> str:
    """The suffix that says what a file is: `.csv` for `data.csv` and `data.csv.gz`."""
    path = Path(path)
    if path.suffix.lower() in _COMPRESSED:
        path = path.with_suffix("")
    return path.suffix.lower()


def is_table(path: str | Path) -> bool:
    """Whether the rows of a file are documents; a .json file may be anything but a list."""
    kind = suffix(path)
    if kind == ".json":
        return Path(path).is_file() and "".join(first_lines(path, 1)).lstrip()[:1] == "["
    return kind in KINDS


def read(path: str | Path) -> Reading:
    """The header of a table and its rows, streamed."""
    reading: Reading = _module(path).read(path)
    return reading


def require_writable(source: str | Path, output: str | Path) -> None:
    """An error if a table of the kind of `output` cannot be made of `source`."""
    module = _module(output)
    if hasattr(module, "write") or (module is _module(source) and hasattr(module, "extend")):
        return
    raise DataError(
        f"a {suffix(output)} file cannot be made of a {suffix(source)} file; name a .csv or "
        ".parquet file",
        output,
    )


def extend(source: str | Path, output: str | Path, added: Added) -> None:
    """Write the table `source` to `output` with further columns."""
    module = _module(output)
    if module is _module(source) and hasattr(module, "extend"):
        module.extend(source, output, added)
    else:
        module.write(output, read(source), added)


def cut(path: str | Path, rows: int) -> Iterator[Piece]:
    """The file in pieces of `rows` rows, the last of which may be shorter."""
    module = _module(path)
    if not hasattr(module, "cut"):
        raise DataError(f"{suffix(path)} files are not read in pieces; save it as CSV", path)
    pieces: Iterator[Piece] = module.cut(path, rows)
    return pieces


def read_piece(path: str | Path, columns: Sequence[str], piece: Piece) -> Iterator[CheckedRow]:
    """The values of these columns in every row of a piece; a row that is wrong is an error.

    A file that cannot be read to the end of the piece gives an error for each row that is missing.
    """
    number, count = piece.line, 0
    try:
        for number, values in islice(_module(path).read_piece(path, columns, piece), piece.rows):
            count += 1
            yield number, values
        problem = DataError("ends here; it had more rows when it was cut into pieces", path)
    except DataError as error:
        problem = error
    for missing in range(1, piece.rows - count + 1):
        yield number + missing, problem


def pieces(ends: Iterable[tuple[int, int]], first: tuple[int, int], rows: int) -> Iterator[Piece]:
    """Pieces from the place and line at which each row ends; the first row begins at `first`."""
    start, count = first, 0
    for end in ends:
        count += 1
        if count == rows:
            yield Piece(*start, count)
            start, count = end, 0
    if count:
        yield Piece(*start, count)


def joined(rows: Iterable[Row], added: Added) -> Iterator[list[Value]]:
    """The values of every row, and those that are added to it."""
    for (_, row), more in zip(rows, added.rows, strict=True):
        yield [*row, *more]


def _module(path: str | Path) -> ModuleType:
    return parts.module(__name__, KINDS[suffix(path)])
