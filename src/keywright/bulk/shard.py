"""One shard: its documents read, their keyphrases found, and both results and failures written.

Every engine calls `make`. The content of a shard depends on nothing but the plan, so that a shard
that is made again after a kill, or twice at the same time, is the same file.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from keywright.bulk import places
from keywright.bulk.plan import Manifest, Source
from keywright.data import tabular
from keywright.data.table import cell_text
from keywright.errors import DataError, KeywrightError, MissingExtraError
from keywright.generation.engine import Keywright
from keywright.generation.found import Keyphrases
from keywright.generation.job import Job, engine
from keywright.types import Document

FAILURES = ".failures"
FORMATS = ("jsonl", "parquet")
DECIMALS = 4  # of probabilities, as in other tables of keyphrases
_REASON = 300  # characters


@dataclass(frozen=True)
class Task:
    """What the shards of a run have in common; can be sent to another machine."""

    job: Job
    output: str
    format: str
    columns: tuple[str, str | None, str | None]
    folder: str  # that relative paths are meant from


class Shard(NamedTuple):
    """What has to be read for the file `name`."""

    name: str
    spans: list[tuple[Source, tabular.Piece]]

    @property
    def documents(self) -> int:
        return sum(piece.rows for _, piece in self.spans)


class Made(NamedTuple):
    """What became of a shard; `problem` is why it was not made."""

    name: str
    documents: int = 0
    failures: int = 0
    problem: str | None = None


class Row(msgspec.Struct):
    """A line of the output: the keyphrases of a document, best first.

    `places` are the characters [start, end) at which a phrase occurs in the document's text, or in
    its title, a line break and its text, if there is a column of titles.
    """

    id: str
    phrases: list[str]
    probabilities: list[float | None]
    places: list[tuple[tuple[int, int], ...]]


class Failure(msgspec.Struct):
    id: str
    reason: str


def shard_of(manifest: Manifest, number: int) -> Shard:
    spans = [
        (manifest.sources[span.source], tabular.Piece(span.place, span.line, span.rows))
        for span in manifest.shards[number]
    ]
    return Shard(manifest.name(number), spans)


def make(task: Task, shard: Shard) -> Made:
    """Make a shard. What a user can correct comes back as `problem`, because errors do not survive
    the way from other processes."""
    # Workers of a cluster start in folders of their own. A node may lack this one, if all that is
    # read and written has an address.
    with suppress(OSError):
        os.chdir(task.folder)
    try:
        rows, failures = _processed(task, shard)
        folder = places.folder(task.output)
        report = report_of(shard.name)
        # Before the shard, whose existence means that all is done.
        if failures:
            folder.write(report, _lines(failures))
        else:
            folder.remove(report)
        folder.write(shard.name, _encoded(rows, task.format))
        return Made(shard.name, shard.documents, len(failures))
    except KeywrightError as error:
        return Made(shard.name, problem=str(error))


def found(task: Task, shard: Shard) -> Made:
    """What became of a shard whose file exists."""
    report = places.folder(task.output).read(report_of(shard.name))
    return Made(shard.name, shard.documents, (report or b"").count(b"\n"))


def report_of(name: str) -> str:
    """The file with the failures of a shard, if it has any."""
    return f"{FAILURES}/{name}.jsonl"


def _processed(task: Task, shard: Shard) -> tuple[list[Row], list[Failure]]:
    read = [item for span in shard.spans for item in _documents(*span, task.columns)]
    found = iter(_keyphrases(task.job, [text for _, text in read if not _failed(text)]))
    rows, failures = [], []
    for key, text in read:
        result = text if isinstance(text, _Unreadable) else next(found)
        if isinstance(result, _Unreadable):
            failures.append(Failure(key, result.reason))
        else:
            rows.append(_row(key, result))
    return rows, failures


class _Unreadable(NamedTuple):
    reason: str


def _failed(text: object) -> bool:
    return isinstance(text, _Unreadable)


_Text = str | Document | _Unreadable


def _documents(
    source: Source, piece: tabular.Piece, columns: tuple[str, str | None, str | None]
) -> Iterator[tuple[str, _Text]]:
    """The id and the text of every row."""
    if (size := places.size(source.path)) != source.size:
        raise DataError(
            f"has {size:,} bytes, but had {source.size:,} when the shards were planned; restore it",
            source.path,
        )
    chosen = [name for name in columns if name is not None]
    with places.local_file(source.path) as file:
        for number, values in tabular.read_piece(file, chosen, piece):
            name = f"{source.path}:{number}"
            if isinstance(values, DataError):
                reason = str(values).replace(str(file), source.path)
                yield name, _Unreadable(reason[:_REASON])
                continue
            cells = dict(zip(chosen, values, strict=True))
            key = None if columns[2] is None else cells[columns[2]]
            yield cell_text(key) or name, _text(cells, columns)


def _text(cells: dict[str, Any], columns: tuple[str, str | None, str | None]) -> _Text:
    for name in columns[:2]:
        if name is not None and isinstance(cells[name], dict | list | tuple | bytes):
            return _Unreadable(f"{name!r} is a {type(cells[name]).__name__}, not a text")
    text = cell_text(cells[columns[0]])
    if columns[1] is None:
        return text
    return Document(title=cell_text(cells[columns[1]]), body=text)


def _keyphrases(job: Job, texts: Sequence[_Text]) -> list[Keyphrases | _Unreadable]:
    """The keyphrases of every text. If one makes the model fail, each is processed alone, and the
    failure is that of its document only."""
    model = engine(job)
    try:
        return list(model.stream(texts, job.selection))  # type: ignore[arg-type]
    except KeywrightError:
        raise
    except Exception:
        return [_alone(model, text, job) for text in texts]


def _alone(model: Keywright, text: _Text, job: Job) -> Keyphrases | _Unreadable:
    try:
        return next(model.stream([text], job.selection))  # type: ignore[list-item]
    except KeywrightError:
        raise
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        return _Unreadable(reason[:_REASON])


def _row(key: str, found: Keyphrases) -> Row:
    return Row(
        key,
        [phrase.text for phrase in found],
        [
            None if phrase.probability is None else round(phrase.probability, DECIMALS)
            for phrase in found
        ],
        [phrase.places for phrase in found],
    )


def _lines(records: Sequence[Row] | Sequence[Failure]) -> bytes:
    encode = msgspec.json.Encoder().encode
    return b"".join(encode(record) + b"\n" for record in records)


def _encoded(rows: Sequence[Row], format: str) -> bytes:
    return _lines(rows) if format == "jsonl" else _parquet(rows)


def require_format(format: str) -> None:
    """An error at the start if files of this format cannot be written here."""
    if format == "parquet":
        _arrow()


def _arrow() -> Any:
    try:
        import pyarrow
    except ModuleNotFoundError:
        raise MissingExtraError("Parquet output", "pyarrow", "bulk") from None
    return pyarrow


def _parquet(rows: Sequence[Row]) -> bytes:
    arrow = _arrow()
    from pyarrow import parquet

    place = arrow.struct([("start", arrow.int64()), ("end", arrow.int64())])
    schema = arrow.schema(
        [
            ("id", arrow.string()),
            ("phrases", arrow.list_(arrow.string())),
            ("probabilities", arrow.list_(arrow.float64())),
            ("places", arrow.list_(arrow.list_(place))),
        ]
    )
    columns = [
        [row.id for row in rows],
        [row.phrases for row in rows],
        [row.probabilities for row in rows],
        [[[{"start": s, "end": e} for s, e in phrase] for phrase in row.places] for row in rows],
    ]
    arrays = [arrow.array(c, field.type) for c, field in zip(columns, schema, strict=True)]
    buffer = io.BytesIO()
    parquet.write_table(arrow.Table.from_arrays(arrays, schema=schema), buffer)
    return buffer.getvalue()
