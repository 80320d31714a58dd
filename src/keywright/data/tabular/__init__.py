"""Tables with a header: one module per kind of file, found by the suffix of its name.

Each exposes `read(path)`, the header and the numbered rows, streamed, and, if files of its kind can
be written, `write(path, reading, added)`. `extend(source, output, added)`, where a module has it,
does the same for a source of its own kind, and keeps what a conversion would lose.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from keywright import parts
from keywright.errors import DataError

Value = object
Row = tuple[int, Sequence[Value]]
"""The number of a row, for error messages, and its values; None is a missing one."""
Reading = tuple[list[str], Iterator[Row]]


class Added(NamedTuple):
    """Columns to add to a table: the keyphrases of every row, and their probabilities."""

    names: tuple[str, str]
    rows: Iterable[tuple[Sequence[str], Sequence[float | None]]]


KINDS = {
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
    return suffix(path) in KINDS


def read(path: str | Path) -> Reading:
    """The header of a table and its rows, streamed."""
    reading: Reading = _module(path).read(path)
    return reading


def require_writable(path: str | Path) -> None:
    """An error if tables of this kind are only read."""
    if not hasattr(_module(path), "write"):
        raise DataError(
            f"{suffix(path)} files are read, but not written; name a .csv or .parquet file", path
        )


def extend(source: str | Path, output: str | Path, added: Added) -> None:
    """Write the table `source` to `output` with further columns."""
    module = _module(output)
    if module is _module(source) and hasattr(module, "extend"):
        module.extend(source, output, added)
    else:
        module.write(output, read(source), added)


def joined(rows: Iterable[Row], added: Added) -> Iterator[list[Value]]:
    """The values of every row, and those that are added to it."""
    for (_, row), more in zip(rows, added.rows, strict=True):
        yield [*row, *more]


def _module(path: str | Path) -> ModuleType:
    return parts.module(__name__, KINDS[suffix(path)])
