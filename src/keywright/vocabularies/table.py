"""Vocabularies as tables (.csv, .tsv) and as plain lists (.txt, one term per line).

A table has a header. `term` or `prefLabel` is the preferred name; `synonyms`, `altLabel` or
`hiddenLabel` are other names, separated by `|` or, if there is no `|`, by `;`; `id` or `uri`
identifies the term. Other columns are ignored.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from keywright import delimited
from keywright.errors import DataError
from keywright.files import read_lines
from keywright.vocabularies.term import Term

_TERM = ("term", "preflabel")
_SYNONYMS = ("synonyms", "synonym", "altlabel", "hiddenlabel")
_ID = ("id", "uri")
_DELIMITERS = (",", ";", "\t")


class _Columns(NamedTuple):
    """The columns of each kind of cell; `width` is the length of the header."""

    term: int
    synonyms: list[int]
    id: int | None
    width: int


class _Seen:
    """The terms and ids read so far, with their lines; each may occur only once in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._terms: dict[tuple[str, str | None], int] = {}
        self._ids: dict[str, int] = {}

    def add(self, term: Term, line: int) -> None:
        if not any(map(str.isalnum, term.text)):
            raise DataError(f"the term {term.text!r} has no letter or digit", self._path, line)
        before = self._ids.setdefault(term.id, line) if term.id else line
        if before != line:
            raise DataError(
                f"the id {term.id!r} already occurs in line {before}; "
                "give the other names of a term as its synonyms",
                self._path,
                line,
            )
        before = self._terms.setdefault((term.text.lower(), term.id), line)
        if before != line:
            raise DataError(
                f"the term {term.text!r} already occurs in line {before}; remove one of the two, "
                "or give them different ids",
                self._path,
                line,
            )


def read_list(path: Path) -> list[Term]:
    """One term per line; empty lines are skipped."""
    seen = _Seen(path)
    terms = []
    for number, line in read_lines(path):
        if "\t" in line.strip():
            raise DataError(
                "contains a tab, but a list has one term per line; "
                "for a table, use .tsv and add a header",
                path,
                number,
            )
        if text := " ".join(line.split()):
            terms.append(Term(text=text))
            seen.add(terms[-1], number)
    return terms


def read_table(path: Path) -> list[Term]:
    lines = (line + "\n" for _, line in read_lines(path))
    header = next(lines, "")
    if not header.strip():
        raise DataError("is empty or starts with an empty line; a table needs a header", path, 1)
    delimiter = _delimiter(header, path)
    columns = _columns(header, delimiter, path)
    seen = _Seen(path)
    terms = []
    for number, row in delimited.rows(lines, delimiter, path, first=2):
        if not any(map(str.strip, row)):
            continue
        if len(row) > columns.width:
            raise DataError(
                f"has {len(row)} cells, but the header has {columns.width}; "
                f"put cells that contain {delimiter!r} in double quotes",
                path,
                number,
            )
        terms.append(_term(row, columns, path, number))
        seen.add(terms[-1], number)
    return terms


def _delimiter(header: str, path: Path) -> str:
    """The delimiter that gives a column of terms; a single column needs none."""
    for delimiter in _DELIMITERS:
        if set(_TERM) & set(_names(header, delimiter, path)):
            return delimiter
    return ","


def _names(header: str, delimiter: str, path: Path) -> list[str]:
    cells = delimited.cells(header, delimiter, path)
    return [cell.strip().lower().removeprefix("skos:") for cell in cells]


def _columns(header: str, delimiter: str, path: Path) -> _Columns:
    names = _names(header, delimiter, path)
    terms = [at for at, name in enumerate(names) if name in _TERM]
    ids = [at for at, name in enumerate(names) if name in _ID]
    if len(terms) != 1 or len(ids) > 1:
        what = "no column" if not terms else "several columns"
        raise DataError(
            f"has {what} for terms or ids (its header: {', '.join(names)}); name one column "
            "'term' and, if there are ids, one 'id'; use .txt for a list without a header",
            path,
            1,
        )
    synonyms = [at for at, name in enumerate(names) if name in _SYNONYMS]
    return _Columns(terms[0], synonyms, ids[0] if ids else None, len(names))


def _term(row: list[str], columns: _Columns, path: Path, line: int) -> Term:
    cells = [" ".join(cell.split()) for cell in row]
    cells += [""] * (columns.width - len(cells))
    if not cells[columns.term]:
        raise DataError("the row has no term; add one or remove the row", path, line)
    synonyms = (name for at in columns.synonyms for name in _split(cells[at]))
    return Term(
        text=cells[columns.term],
        id=(cells[columns.id] or None) if columns.id is not None else None,
        synonyms=tuple(dict.fromkeys(synonyms)),
    )


def _split(cell: str) -> list[str]:
    separator = "|" if "|" in cell else ";"
    return [name for part in cell.split(separator) if (name := part.strip())]
