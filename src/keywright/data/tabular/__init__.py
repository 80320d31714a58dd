"""Tables with a header: one module per kind of file, found by the suffix of its name.

Lists of references are tables, too, with the columns id, title, abstract and keywords.

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
from keywright.files import first_lines

Value = object
Row = tuple[int, Sequence[Value]]
"""The number of a row, for error messages, and its values; None is a missing one."""
Reading = tuple[list[str], Iterator[Row]]


class Added(NamedTuple):
    """Columns to add to a table: the keyphrases of every row, and their probabilities."""

    names: tuple[str, str]
    rows: Iterable[tuple[Sequence[str], Sequence[float | None]]]


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


def joined(rows: Iterable[Row], added: Added) -> Iterator[list[Value]]:
    """The values of every row, and those that are added to it."""
    for (_, row), more in zip(rows, added.rows, strict=True):
        yield [*row, *more]


def _module(path: str | Path) -> ModuleType:
    return parts.module(__name__, KINDS[suffix(path)])
