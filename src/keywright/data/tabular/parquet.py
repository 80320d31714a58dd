"""Parquet, in batches of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from keywright.data.tabular import Added, Piece, Reading, Row, Value
from keywright.errors import DataError, KeywrightError, MissingExtraError
from keywright.files import atomic_write

BATCH = 1024  # rows


def read(path: str | Path) -> Reading:
    with _opened(path) as file:
        header = list(file.schema_arrow.names)
    if not header:
        raise DataError("has no columns", path)
    return header, _rows(path)


def write(path: str | Path, reading: Reading, added: Added) -> None:
    """The values of other kinds of tables become text."""
    arrow = _arrow()
    header, rows = reading
    schema = arrow.schema([(name, arrow.string()) for name in header])
    with _written(path, schema, added) as append:
        while piece := [row for _, row in islice(rows, BATCH)]:
            columns = zip(*piece, strict=True)
            append([arrow.array(list(map(_text, column)), arrow.string()) for column in columns])


def extend(source: str | Path, output: str | Path, added: Added) -> None:
    with _opened(source) as file, _written(output, file.schema_arrow, added) as append:
        for batch in file.iter_batches(batch_size=BATCH):
            append(batch.columns)


@contextmanager
def _written(
    path: str | Path, schema: Any, added: Added
) -> Iterator[Callable[[Sequence[Any]], None]]:
    """A function that writes columns of a batch of rows, and the columns added to them."""
    arrow = _arrow()
    from pyarrow import parquet

    new = (arrow.list_(arrow.string()), arrow.list_(arrow.float64()))
    for name, kind in zip(added.names, new, strict=True):
        schema = schema.append(arrow.field(name, kind))
    values = iter(added.rows)
    with atomic_write(path, "wb") as file, parquet.ParquetWriter(file, schema) as writer:

        def append(columns: Sequence[Any]) -> None:
            more = zip(*islice(values, len(columns[0])), strict=True)
            arrays = [arrow.array(v, k) for v, k in zip(more, new, strict=True)]
            writer.write_batch(arrow.record_batch([*columns, *arrays], schema=schema))

        yield append


def cut(path: str | Path, rows: int) -> Iterator[Piece]:
    with _opened(path) as file:
        total = file.metadata.num_rows
    for start in range(0, total, rows):
        yield Piece(start, start, min(rows, total - start))


def read_piece(path: str | Path, columns: Sequence[str], piece: Piece) -> Iterator[Row]:
    with _opened(path) as file:
        sizes = [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)]
        groups, start = _from(sizes, piece.place)
        number = start
        for batch in file.iter_batches(BATCH, row_groups=groups, columns=list(columns)):
            first = max(0, piece.place - number)
            number += len(batch)
            if first < len(batch):
                taken = batch.slice(first)
                cells = [taken.column(name).to_pylist() for name in columns]
                yield from enumerate(zip(*cells, strict=True), start=number - len(taken) + 1)


def _from(sizes: Sequence[int], row: int) -> tuple[list[int], int]:
    """The row groups from the one that contains `row` on, and the number of rows before them."""
    before = 0
    for group, size in enumerate(sizes):
        if before + size > row:
            return list(range(group, len(sizes))), before
        before += size
    return [], before


def _text(value: Value) -> str | None:
    return None if value is None else str(value)


def _rows(path: str | Path) -> Iterator[Row]:
    number = 0
    with _opened(path) as file:
        for batch in file.iter_batches(batch_size=BATCH):
            columns = [column.to_pylist() for column in batch.columns]
            for row in zip(*columns, strict=True):
                number += 1
                yield number, row


@contextmanager
def _opened(path: str | Path) -> Iterator[Any]:
    arrow = _arrow()
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            yield file
    except (KeywrightError, GeneratorExit):
        raise
    except FileNotFoundError:
        raise DataError("no such file", path) from None
    except MemoryError:
        raise DataError("needs too much memory to read", path) from None
    except (arrow.ArrowException, OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise DataError(f"is not a complete Parquet file ({reason})", path) from None


def _arrow() -> Any:
    try:
        import pyarrow
    except ModuleNotFoundError:
        raise MissingExtraError("a Parquet file", "pyarrow", "tables") from None
    return pyarrow
