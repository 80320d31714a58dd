"""The manifest: which documents belong to which shard, and what their keyphrases depend on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from keywright.bulk import places
from keywright.data import tabular
from keywright.data.parallel import in_processes
from keywright.data.table import TEXTS, TITLES, place
from keywright.errors import ConfigError, DataError, KeywrightError
from keywright.files import NOT_JSON, sha256

MANIFEST = "manifest.json"
VERSION = 1
IDS = ("id",)
MOST_DIFFERENCES = 5  # in a message
MANY_BYTES = 1 << 27  # read in less time than processes need to start


class ColumnNames(NamedTuple):
    """The columns of a table; None stands for a usual name, or for no such column."""

    text: str | None = None
    title: str | None = None
    id: str | None = None


class Source(msgspec.Struct, frozen=True):
    """An input file as it was when the shards were planned."""

    path: str
    size: int
    sha256: str
    rows: int


class Span(msgspec.Struct, frozen=True, array_like=True):
    """Rows of an input file, which is given by its number; see `tabular.Piece`."""

    source: int
    place: int
    line: int
    rows: int


class Manifest(msgspec.Struct, frozen=True):
    """A plan. A shard is a list of spans; it is done when its file exists."""

    version: int
    settings: dict[str, Any]
    columns: tuple[str, str | None, str | None]
    sources: list[Source]
    shards: list[list[Span]]

    @property
    def documents(self) -> int:
        return sum(source.rows for source in self.sources)

    def size(self, shard: int) -> int:
        return sum(span.rows for span in self.shards[shard])

    def name(self, shard: int) -> str:
        return f"part-{shard:06d}.{self.settings['format']}"


def encode(manifest: Manifest) -> bytes:
    return msgspec.json.format(msgspec.json.encode(manifest), indent=0) + b"\n"


def load(folder: str) -> Manifest | None:
    """The manifest of an output folder, None if it has none."""
    content = places.folder(folder).read(MANIFEST)
    if content is None:
        return None
    try:
        manifest = msgspec.json.decode(content, type=Manifest)
    except NOT_JSON as error:
        raise DataError(f"is not a manifest ({error}); name a new folder", _at(folder)) from None
    if manifest.version != VERSION:
        raise DataError(
            f"is of version {manifest.version}, this release writes {VERSION}; name a new folder",
            _at(folder),
        )
    return manifest


def _at(folder: str) -> str:
    return f"{folder.rstrip('/')}/{MANIFEST}"


def inputs(given: Iterable[str]) -> list[str]:
    """The files that are meant. A file that is given twice is refused: its documents would be
    doubled."""
    found = [path for item in given for path in places.expand(item)]
    for path in found:
        if tabular.suffix(path) not in places.SUFFIXES:
            raise DataError(
                f"is not a table that can be cut into shards ({', '.join(places.SUFFIXES)})", path
            )
    twice = [path for path, count in Counter(found).items() if count > 1]
    if twice:
        raise DataError("is given twice; its documents would be doubled", twice[0])
    return found


def plan(
    paths: Sequence[str], names: ColumnNames, rows: int, settings: Mapping[str, Any], workers: int
) -> Manifest:
    """The manifest of a new run; files are read by `workers` processes."""
    cut = list(_each(partial(_cut, names=names, rows=rows), paths, workers))
    columns = cut[0].columns
    for other in cut[1:]:
        if other.columns != columns:
            raise DataError(
                f"its columns for text, title and id are {_listed(other.columns)}, but those of "
                f"{paths[0]} are {_listed(columns)}; name them with --column, --title-column and "
                "--id-column, or process the files one by one",
                other.source.path,
            )
    spans = [Span(number, *piece) for number, file in enumerate(cut) for piece in file.pieces]
    sources = [file.source for file in cut]
    return Manifest(VERSION, dict(settings), columns, sources, list(_packed(spans, rows)))


def _listed(columns: Sequence[str | None]) -> str:
    return ", ".join("none" if name is None else repr(name) for name in columns)


class _Cut(NamedTuple):
    """A file in pieces."""

    source: Source
    columns: tuple[str, str | None, str | None]
    pieces: list[tabular.Piece]


def _cut(path: str, names: ColumnNames, rows: int) -> _Cut:
    with places.local_file(path, fresh=True) as file:
        columns = _columns(file, names)
        pieces = list(tabular.cut(file, rows))
        total = sum(piece.rows for piece in pieces)
        return _Cut(Source(path, file.stat().st_size, sha256(file), total), columns, pieces)


def _columns(file: Path, names: ColumnNames) -> tuple[str, str | None, str | None]:
    header, _ = tabular.read(file)
    text = place(header, names.text, TEXTS, "text", file, option="--column") or 0
    title = place(header, names.title, TITLES, "title", file, needed=names.title is not None)
    key = place(header, names.id, IDS, "id", file, needed=names.id is not None)
    return (
        header[text],
        None if title is None else header[title],
        None if key is None else header[key],
    )


def _packed(spans: Iterable[Span], rows: int) -> Iterator[list[Span]]:
    """Shards of at most `rows` documents: what is left of small files shares one."""
    shard: list[Span] = []
    for span in spans:
        if shard and sum(other.rows for other in shard) + span.rows > rows:
            yield shard
            shard = []
        shard.append(span)
    if shard:
        yield shard


def _each(function: Any, paths: Sequence[str], workers: int) -> Iterator[Any]:
    """A function's value for every file, from several processes if there are many bytes."""
    total = 0
    if workers > 1 and len(paths) > 1:
        total = sum(map(places.size, paths))
    yield from in_processes(
        partial(_plain_errors, function), paths, workers if total >= MANY_BYTES else 1
    )


def _plain_errors(function: Any, path: str) -> Any:
    try:
        return function(path)
    except KeywrightError as error:  # subclasses have other arguments and cannot be pickled
        raise KeywrightError(str(error)) from None


def require_same(
    old: Manifest,
    paths: Sequence[str],
    settings: Mapping[str, Any],
    folder: str,
    workers: int,
) -> None:
    """An error that says what differs from the run whose manifest is `old`."""
    new = msgspec.to_builtins(dict(settings), enc_hook=str)
    found = list(_differences("", old.settings, new))
    found += _differing_files(old.sources, paths, workers)
    if found:
        more = len(found) - MOST_DIFFERENCES
        listed = "; ".join(found[:MOST_DIFFERENCES]) + (f"; and {more} more" if more > 0 else "")
        raise ConfigError(
            f"{folder}: was begun with something else, so it cannot be continued: {listed}. Name "
            "another folder, or remove this one"
        )


def _differences(where: str, old: Any, new: Any) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            name = f"{where}.{key}" if where else str(key)
            yield from _differences(name, old.get(key), new.get(key))
    elif old != new:
        yield f"{where}: {old!r} -> {new!r}"


def _differing_files(old: Sequence[Source], paths: Sequence[str], workers: int) -> list[str]:
    before, now = {source.path: source for source in old}, set(paths)
    found = [f"{path}: was not among the input" for path in paths if path not in before]
    found += [f"{path}: is no longer among the input" for path in before if path not in now]
    if not found and list(before) != list(paths):
        found.append("the files are in another order")
    for path in () if found else paths:
        if (size := places.size(path)) != before[path].size:
            found.append(f"{path}: {before[path].size:,} bytes -> {size:,} bytes")
    if not found:
        digests = zip(paths, _each(_digest, paths, workers), strict=True)
        found = [
            f"{path}: same size, other content (SHA-256 {before[path].sha256[:12]} -> {new[:12]})"
            for path, new in digests
            if new != before[path].sha256
        ]
    return found


def _digest(path: str) -> str:
    with places.local_file(path, fresh=True) as file:
        return sha256(file)
