"""CSV and TSV. The separator of a `.csv` file may also be a semicolon or a tab."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, cast

from keywright import delimited
from keywright.data.tabular import (
    Added,
    CheckedRow,
    Piece,
    Reading,
    Row,
    Value,
    joined,
    pieces,
    suffix,
)
from keywright.errors import DataError
from keywright.files import atomic_write, first_lines, raw_lines, read_lines

_JOINED = "; "  # between the values of a list in a cell
_ESCAPED = re.compile("[\udc80-\udcff]")  # what `surrogateescape` makes of a byte
# Spreadsheets run a cell that begins with one of these as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def read(path: str | Path) -> Reading:
    delimiter = _delimiter(path)
    rows = delimited.rows((line + "\n" for _, line in read_lines(path)), delimiter, path)
    header = [cell.strip() for _, row in [next(rows, (1, []))] for cell in row]
    if not any(header):
        raise DataError("is empty or starts with an empty line; a table needs a header", path, 1)
    return header, _checked(rows, len(header), delimiter, path)


def write(path: str | Path, reading: Reading, added: Added) -> None:
    _write(path, reading, added, _delimiter(path, new=True))


def extend(source: str | Path, output: str | Path, added: Added) -> None:
    same = suffix(source) == suffix(output)
    delimiter = _delimiter(source) if same else _delimiter(output, new=True)
    _write(output, read(source), added, delimiter)


def cut(path: str | Path, rows: int) -> Iterator[Piece]:
    ends = (end for _, _, end in _records(path, _delimiter(path)))
    return pieces(ends, next(ends), rows)  # the first row is the header


def read_piece(path: str | Path, columns: Sequence[str], piece: Piece) -> Iterator[CheckedRow]:
    header, _ = read(path)
    delimiter, chosen = _delimiter(path), [header.index(name) for name in columns]
    for number, row, _ in _records(path, delimiter, piece.place, piece.line):
        try:
            _require_width(row, len(header), delimiter, path, number)
            _require_text(row, path, number)
            yield number, [row[at] for at in chosen]
        except DataError as error:
            yield number, error


def _records(
    path: str | Path, delimiter: str, place: int = 0, line: int = 0
) -> Iterator[tuple[int, list[str], tuple[int, int]]]:
    """Rows with the number of their first line, and the place and line at which they end.

    Bytes that are not UTF-8 are kept as they are, for `_require_text` to find: rows end at the same
    places whatever their cells contain.
    """
    end = place, line

    def lines() -> Iterator[str]:
        nonlocal end
        for number, after, content in raw_lines(path, place, line):
            end = after, number
            text = content.decode("utf-8", errors="surrogateescape")
            yield text.removesuffix("\n").removesuffix("\r") + "\n"

    for number, row in delimited.rows(lines(), delimiter, path, line + 1):
        if row:  # an empty line is not a row
            yield number, row, end


def _require_text(row: Sequence[str], path: str | Path, number: int) -> None:
    for cell in row:
        if "\x00" in cell:
            raise DataError("is a binary file or UTF-16, not UTF-8 text (NUL byte)", path, number)
        if not cell.isascii() and _ESCAPED.search(cell):
            raise DataError(
                "is not UTF-8; convert it, for example with: iconv -f latin1 -t utf-8", path, number
            )


def _delimiter(path: str | Path, *, new: bool = False) -> str:
    """The separator of a file, by the header of one that is not `new`."""
    if suffix(path) == ".tsv":
        return "\t"
    head = "" if new else "".join(first_lines(path, 1))
    return next((mark for mark in ",;\t" if mark in head), ",")


def _checked(
    rows: Iterator[tuple[int, list[str]]], width: int, delimiter: str, path: str | Path
) -> Iterator[Row]:
    for number, row in rows:
        if not row:
            continue  # an empty line is not a row
        _require_width(row, width, delimiter, path, number)
        yield number, row


def _require_width(
    row: Sequence[str], width: int, delimiter: str, path: str | Path, number: int
) -> None:
    if len(row) != width:
        raise DataError(
            f"has {len(row)} cells, but the header has {width}; put cells that contain "
            f"{delimiter!r} or line breaks in double quotes",
            path,
            number,
        )


def _write(path: str | Path, reading: Reading, added: Added, delimiter: str) -> None:
    header, rows = reading
    with atomic_write(path) as file:
        writer = csv.writer(cast(IO[str], file), delimiter=delimiter, lineterminator="\n")
        writer.writerow([*header, *added.names])
        for row in joined(rows, added):
            writer.writerow([_cell(value) for value in row])


def _cell(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        text = _JOINED.join("" if item is None else str(item) for item in value)
        return f"'{text}" if text.startswith(_FORMULA) else text
    return str(value)
