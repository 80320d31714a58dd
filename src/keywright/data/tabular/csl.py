"""CSL-JSON, a list of references, as Zotero exports it: keyphrases are added to `keyword`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

import msgspec

from keywright.data.records import explain
from keywright.data.tabular import Added, Reading, Row
from keywright.data.tabular._references import HEADER, MOST_BYTES, new_ones
from keywright.errors import DataError
from keywright.files import NOT_JSON, atomic_write, read_bytes


def read(path: str | Path) -> Reading:
    return HEADER, _rows(path)


def extend(source: str | Path, output: str | Path, added: Added) -> None:
    made = []
    for item, (phrases, _) in zip(_items(source), added.rows, strict=True):
        old = _text(item.get("keyword")) or ""
        new = new_ones(phrases, old.split(","))
        made.append({**item, "keyword": ", ".join([*filter(None, [old]), *new])} if new else item)
    with atomic_write(output, "wb") as file:
        cast(IO[bytes], file).write(msgspec.json.format(msgspec.json.encode(made)) + b"\n")


def _rows(path: str | Path) -> Iterator[Row]:
    for number, item in enumerate(_items(path), start=1):
        names = ("id", "title", "abstract", "keyword")
        yield number, [_text(item.get(name)) for name in names]


def _items(path: str | Path) -> list[dict[str, Any]]:
    try:
        return msgspec.json.decode(read_bytes(path, MOST_BYTES), type=list[dict[str, Any]])
    except NOT_JSON as error:
        raise DataError(f"is not a list of references: {explain(error)}", path) from None


def _text(value: object) -> str | None:
    return None if value is None else str(value)
