"""Documents with their phrases, and the date of each if it is known."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from keywright.data.predictions import read_predictions
from keywright.data.recognise import look
from keywright.data.records import Id, read_records
from keywright.errors import DataError
from keywright.files import fail
from keywright.types import Document

# 2023, 2023-05, 2023_05_17 or 20230517 in a name, and not within a longer number.
_DATE = re.compile(
    r"(?<!\d)((?:19|20)\d\d)(?:[-_./]?(0[1-9]|1[0-2])(?!\d{3})(?:[-_./]?\d\d)?)?(?!\d)"
)

NO_DATES: Mapping[str, str] = MappingProxyType({})


class Mention(NamedTuple):
    """A phrase of a document; `probability` is None if the model gives none."""

    text: str
    probability: float | None = None


class Entry(NamedTuple):
    """A document; `date` is "2023-05", "2023" or None."""

    name: str
    mentions: tuple[Mention, ...]
    date: str | None = None


class _Phrase(msgspec.Struct):
    text: str
    probability: float | None = None


class _Generated(msgspec.Struct):
    """A line of `keywright generate --format jsonl`."""

    keyphrases: list[_Phrase]
    id: Id | None = None
    title: str = ""


class _Dated(msgspec.Struct):
    """The fields of a record that may hold its id and its date."""

    id: Id | None = None
    date: str | int | None = None
    year: str | int | None = None
    published: str | int | None = None
    created: str | int | None = None


def date_in(text: str) -> str | None:
    """The first date in a name or field, to the month if that is given."""
    found = _DATE.search(text)
    if found is None:
        return None
    return f"{found[1]}-{found[2]}" if found[2] else found[1]


def dates_of(path: Path) -> dict[str, str]:
    """Dates of the documents of a JSON-lines file by their ids: `date`, `year`, `published`, ..."""
    found = {}
    try:
        for _, record in read_records(path, _Dated, lambda record: record, fail):
            given = (record.date, record.year, record.published, record.created)
            date = date_in(next((str(value) for value in given if value is not None), ""))
            if record.id is not None and date is not None:
                found[str(record.id)] = date
    except DataError:
        return {}  # not JSON lines, or other fields under these names: there are no dates
    return found


def is_predictions(path: Path) -> bool:
    """Whether a file holds phrases of documents, and not documents."""
    record = look(path).record or {}
    phrases = record.get("keyphrases")
    written = isinstance(phrases, list) and all(isinstance(item, dict) for item in phrases)
    return "phrases" in record or ("keyphrases" in record and "warnings" in record and written)


def read(
    path: Path, documents: Iterable[Document] = (), dates: Mapping[str, str] = NO_DATES
) -> Iterator[Entry]:
    """The entries of predictions, or of what `keywright generate --format jsonl` wrote.

    `documents` give names to predictions, by id or in the same order; `dates` are by id.
    """
    if "phrases" not in (look(path).record or {}):
        for _, line in read_records(path, _Generated, lambda line: line, fail):
            identifier = str(line.id) if line.id is not None else ""
            mentions = tuple(Mention(phrase.text, phrase.probability) for phrase in line.keyphrases)
            date = dates.get(identifier) or date_in(identifier)
            yield Entry(line.title or identifier or "(no title)", mentions, date)
        return
    given = list(documents)
    titles = {document.id: document.title for document in given if document.id is not None}
    for number, prediction in enumerate(read_predictions(path)):
        in_order = given[number] if number < len(given) else Document(title="", body="")
        identifier = prediction.document_id or in_order.id or ""
        title = titles.get(identifier) if identifier else in_order.title
        name = title or identifier or f"document {number + 1}"
        phrases = prediction.recommended.phrases
        mentions = tuple(Mention(phrase.text, phrase.confidence) for phrase in phrases)
        yield Entry(name, mentions, dates.get(identifier) or date_in(identifier))
