"""CSV and TSV. The separator of a `.csv` file may also be a semicolon or a tab."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from keywright import delimited
from keywright.data.tabular import Added, Reading, Row, Value, joined, suffix
from keywright.errors import DataError
from keywright.files import atomic_write, first_lines, read_lines

_JOINED = "; "  # between the values of a list in a cell
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
        if len(row) != width:
            raise DataError(
                f"has {len(row)} cells, but the header has {width}; put cells that contain "
                f"{delimiter!r} or line breaks in double quotes",
                path,
                number,
            )
        yield number, row


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
