"""Which reader fits a file: decided by its first records, never by its name.

A reader is a module in `readers/` or `prediction_readers/`; its file name is the name of its
format. It decides whether a file has its format (`recognise`) and reads it (`read`), so that a new
format is one new file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import msgspec

from keywright import parts
from keywright.data import hub
from keywright.errors import DataError, UnknownNameError
from keywright.files import NOT_JSON, Bad, first_lines, read_lines

Value = TypeVar("Value")
_JSON_OBJECT = re.compile(r'\A\s*+\{\s*["}]')


class Head(NamedTuple):
    """What a reader sees of a file to decide whether it can read it."""

    path: str | Path
    lines: tuple[str, ...]
    """The first lines; empty for a folder and for a dataset of the Hugging Face hub."""
    record: dict[str, Any] | None
    """The first of these lines that is a JSON object, or the first row of a hub dataset."""

    @property
    def is_folder(self) -> bool:
        return Path(self.path).is_dir()

    @property
    def is_text(self) -> bool:
        """Whether the file has plain lines, not JSON (valid or broken)."""
        first = next((line for line in self.lines if line.strip()), "")
        json = looks_like_json(first) or is_json_list(first)
        return bool(self.lines) and self.record is None and not json


class Reader(Protocol):
    """The interface of a module in `readers/`."""

    def recognise(self, head: Head) -> bool: ...

    def read(self, path: str | Path, bad: Bad) -> Iterator[tuple[int, Any]]:
        """Numbered values; errors are passed to `bad`, and if it returns, reading continues."""


def looks_like_json(line: str) -> bool:
    return _JSON_OBJECT.match(line) is not None


def is_json_list(line: str) -> bool:
    """Whether a line is a JSON list of strings; `[ 3 ] graph` and `[1]` are text."""
    try:
        msgspec.json.decode(line, type=list[str])
    except NOT_JSON:
        return False
    return True


def look(path: str | Path) -> Head:
    if hub.is_hub(path):
        return Head(path, (), next(hub.rows(path), None))
    path = Path(path)
    if path.is_dir():
        return Head(path, (), None)
    if path.exists() and not path.is_file():
        # A pipe can be read only once, so that its first lines would be lost.
        raise DataError("is not a regular file; name its format to read it as a stream", path)
    lines = tuple(first_lines(path))
    records = (_json_object(line) for line in lines)
    return Head(path, lines, next((record for record in records if record is not None), None))


def _json_object(line: str) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(line)
    except NOT_JSON:
        return None
    return value if isinstance(value, dict) else None


def reader(package: str, what: str, path: str | Path, format: str | None) -> Reader:
    """The reader named `format`, or the one that recognises the file."""
    known = parts.names(package)
    if format is not None:
        if format not in known:
            raise UnknownNameError(f"{what} format", format, known)
        return cast(Reader, parts.module(package, format))
    head = look(path)
    fitting = [name for name in known if cast(Reader, parts.module(package, name)).recognise(head)]
    if len(fitting) == 1:
        return cast(Reader, parts.module(package, fitting[0]))
    if fitting:
        raise DataError(f"could be {' or '.join(fitting)}; name its format", path)
    raise _unrecognised(head, what, known)


def _unrecognised(head: Head, what: str, known: list[str]) -> DataError:
    formats = f"name its format ({', '.join(known)}) if it is one of them"
    if head.record is not None:
        fields = ", ".join(map(repr, list(head.record)[:12])) or "none"
        return DataError(f"no known {what} format has the fields {fields}; {formats}", head.path)
    if not head.is_folder and not hub.is_hub(head.path):
        for _ in read_lines(head.path):  # raises for a binary file or a wrong encoding
            break
        if not head.lines:
            return DataError("is empty", head.path)
        if looks_like_json(head.lines[0]):
            return DataError(f"is not valid JSON; {formats}", head.path, 1)
    return DataError(f"does not have a known {what} format; {formats}", head.path)


def at_least_one(
    values: Iterator[tuple[int, Value]], what: str, path: str | Path, bad: Bad
) -> Iterator[tuple[int, Value]]:
    """The same values; it is an error if there are none, because nobody means an empty file."""
    number = None
    for number, value in values:
        yield number, value
    if number is None:
        bad(DataError(f"contains no {what}", path))
