"""RIS: the title and the abstract of every reference; keyphrases are added as `KW` lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from keywright.data.tabular import Added, Reading, Row
from keywright.data.tabular._references import HEADER, new_ones, read_text
from keywright.errors import DataError
from keywright.files import atomic_write

_TAG = re.compile(r"([A-Z][A-Z0-9])  -(?: (.*))?$")
_TITLES = ("TI", "T1", "CT", "BT")
_ABSTRACTS = ("AB", "N2")
_Record = dict[str, list[str]]


def read(path: str | Path) -> Reading:
    return HEADER, _rows(path)


def extend(source: str | Path, output: str | Path, added: Added) -> None:
    rows = iter(added.rows)
    record: _Record = {}
    with atomic_write(output) as file:
        for line in read_text(source).removesuffix("\n").split("\n"):
            tag = _TAG.match(line.rstrip())
            if tag:
                record.setdefault(tag[1], []).append(tag[2] or "")
            if tag and tag[1] == "ER":
                for phrase in new_ones(next(rows)[0], record.get("KW", [])):
                    cast(IO[str], file).write(f"KW  - {phrase}\n")
                record = {}
            cast(IO[str], file).write(line + "\n")


def _rows(path: str | Path) -> Iterator[Row]:
    record: _Record = {}
    last, begins = "", 0
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        tag = _TAG.match(line.rstrip())
        if tag is None:
            if line.strip() and last:
                record[last][-1] += " " + line.strip()  # a value of several lines
            elif line.strip():
                raise DataError("is not a line of a reference, such as TY  - JOUR", path, number)
            continue
        begins = begins or number
        last = tag[1]
        record.setdefault(last, []).append(tag[2] or "")
        if last == "ER":
            yield begins, _row(record)
            record, last, begins = {}, "", 0
    if record:
        raise DataError("the last reference has no end (ER  - )", path, begins)


def _row(record: _Record) -> list[str | None]:
    title, abstract = (
        next((" ".join(record[tag]) for tag in tags if tag in record), None)
        for tags in (_TITLES, _ABSTRACTS)
    )
    return [" ".join(record.get("ID", [])), title, abstract, "; ".join(record.get("KW", []))]
