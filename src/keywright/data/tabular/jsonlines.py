"""JSON lines: one object per line, whose keys are the columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, cast

import msgspec

from keywright.data.records import explain
from keywright.data.tabular import Added, CheckedRow, Piece, Reading, Row, Value, joined, pieces
from keywright.errors import DataError
from keywright.files import NOT_JSON, atomic_write, raw_lines, read_lines

_Record = dict[str, msgspec.Raw]  # values stay as they are written


def read(path: str | Path) -> Reading:
    """The columns are the keys of the first record; another record may lack some of them."""
    _, first = next(_records(path), (1, {}))
    if not first:
        raise DataError("is empty or starts with an empty object; a table needs columns", path, 1)
    header = list(first)
    return header, _rows(path, header)


def write(path: str | Path, reading: Reading, added: Added) -> None:
    header, rows = reading
    names = [*header, *added.names]
    records = (dict(zip(names, row, strict=True)) for row in joined(rows, added))
    _write(path, records)


def extend(source: str | Path, output: str | Path, added: Added) -> None:
    records = zip(_records(source), added.rows, strict=True)
    _write(
        output,
        ({**record, **dict(zip(added.names, more, strict=True))} for (_, record), more in records),
    )


def cut(path: str | Path, rows: int) -> Iterator[Piece]:
    ends = ((place, number) for number, place, line in raw_lines(path) if line.strip())
    return pieces(ends, (0, 0), rows)


def read_piece(path: str | Path, columns: Sequence[str], piece: Piece) -> Iterator[CheckedRow]:
    """A record may lack columns other than the first of `columns`."""
    decode = msgspec.json.Decoder(_Record).decode
    for number, _, line in raw_lines(path, piece.place, piece.line):
        if not line.strip():
            continue
        try:
            record = decode(line)
            values = [_value(record.get(name)) for name in columns]
        except NOT_JSON as error:
            reason = explain(error, line.decode("utf-8", errors="replace"))
            yield number, DataError(reason, path, number)
            continue
        lacks = columns[0] not in record
        yield number, DataError(f"has no {columns[0]!r}", path, number) if lacks else values


def _write(path: str | Path, records: Iterable[dict[str, Any]]) -> None:
    # Dates and decimal numbers of other tables become text.
    encode = msgspec.json.Encoder(enc_hook=str).encode
    with atomic_write(path, "wb") as file:
        for record in records:
            cast(IO[bytes], file).write(encode(record) + b"\n")


def _rows(path: str | Path, header: Sequence[str]) -> Iterator[Row]:
    for number, record in _records(path):
        unknown = record.keys() - set(header)
        if unknown:
            raise DataError(
                f"has the key {min(unknown)!r}, which the first record lacks, so it has no column; "
                "add the key to the first record, with null for its value",
                path,
                number,
            )
        yield number, [_value(record.get(name)) for name in header]


def _records(path: str | Path) -> Iterator[tuple[int, _Record]]:
    decode = msgspec.json.Decoder(_Record).decode
    for number, line in read_lines(path):
        if not line.strip():
            continue
        try:
            yield number, decode(line)
        except NOT_JSON as error:
            raise DataError(explain(error, line), path, number) from None


def _value(raw: msgspec.Raw | None) -> Value:
    return None if raw is None else msgspec.json.decode(raw)
