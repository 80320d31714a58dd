"""Typed records: lines of JSON or rows of a hub dataset, with an error for each bad one.

Readers declare the fields they use as a msgspec struct, which decodes only those. This file
explains what is wrong with a record, and knows how keyphrases and ids are written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from keywright.data import hub
from keywright.errors import DataError
from keywright.files import NOT_JSON, Bad, read_lines

Record = TypeVar("Record")
Value = TypeVar("Value")
Phrases = str | list[str | list[str]]
"""Keyphrases as the formats write them: joined by `;`, a list, or a list of token lists."""
Id = str | int

_HALF_PAIR = re.compile(
    r"\\u[dD][89abAB]..(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..)\\u[dD][c-fC-F]"
)
_NOT_A_NUMBER = re.compile(r"[\[:,]\s*(-?Infinity|NaN)\b")
_BAD_RECORD = (DataError, *NOT_JSON)


def read_records(
    path: str | Path, kind: type[Record], convert: Callable[[Record], Value], bad: Bad
) -> Iterator[tuple[int, Value]]:
    """Numbered values made of records; blank lines are skipped.

    `convert` raises a `DataError` without a location for a record that has the right types but does
    not make sense.
    """
    parse: Callable[[Any], Record]
    if hub.is_hub(path):
        source: Iterator[tuple[int, Any]] = enumerate(hub.rows(path), start=1)

        def parse(row: Any) -> Record:
            return msgspec.convert(row, kind)
    else:
        source = read_lines(path, bad)
        parse = msgspec.json.Decoder(kind).decode
    for number, raw in source:
        if isinstance(raw, str) and (not raw or raw.isspace()):
            continue
        try:
            value = convert(parse(raw))
        except _BAD_RECORD as error:
            bad(DataError(explain(error, raw), path, number))
            continue
        yield number, value


def explain(error: BaseException, raw: object = "") -> str:
    """What is wrong with a record, as a sentence."""
    text = str(error)
    if isinstance(error, RecursionError):
        return "is nested too deeply to be a record"
    if isinstance(error, msgspec.ValidationError):
        if text.startswith("Expected `object`"):
            return f"is JSON, but not an object ({text})"
        what, _, place = text.partition(" - at ")
        return f"{place.strip('`').removeprefix('$.')}: {what}" if place else what
    if isinstance(error, msgspec.DecodeError):
        if isinstance(raw, str) and _HALF_PAIR.search(raw):
            return "is not JSON (half a surrogate pair such as \\ud83d is not a character)"
        if isinstance(raw, str) and (found := _NOT_A_NUMBER.search(raw)):
            return f"is not JSON ({found[1]} is not a number); leave out unknown values"
        return f"is not JSON ({text})"
    return text


def phrases(value: Phrases | None) -> tuple[str, ...] | None:
    """Keyphrases; those joined by `;` are stripped and empty ones dropped, lists are unchanged."""
    if value is None:
        return None
    if isinstance(value, str):
        return tuple(piece for raw in value.split(";") if (piece := raw.strip()))
    return tuple(item if isinstance(item, str) else " ".join(item) for item in value)


def identifier(*candidates: Id | None) -> str | None:
    """The first id that is not None."""
    return next((str(value) for value in candidates if value is not None), None)
