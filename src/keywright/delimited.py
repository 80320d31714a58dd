"""Rows of delimited text (CSV, TSV): what Python's csv refuses is an error of the file."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

from keywright.errors import DataError

LONGEST_CELL = 1 << 24  # characters; Python's own limit is shorter than a long report


def rows(
    lines: Iterable[str], delimiter: str, path: str | Path, first: int = 1
) -> Iterator[tuple[int, list[str]]]:
    """Rows, each with the number of the line in which it begins; `first` is that of the first."""
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_CELL))
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        number = first + reader.line_num
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise DataError(
                f"is not a valid row ({error}); check for an unmatched double quote", path, number
            ) from None
        if row is None:
            return
        yield number, row


def cells(line: str, delimiter: str, path: str | Path) -> list[str]:
    """The cells of a header, the first line of a file."""
    return next(rows([line], delimiter, path), (1, []))[1]
