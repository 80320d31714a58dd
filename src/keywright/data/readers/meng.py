"""JSON lines of Meng et al. and of the corpora that followed them.

KP20k and similar ones: `title`, `abstract`, `keywords` (`keyword`, `keyphrases`), a list or joined
by `;`. StackExchange: `title`, `question`, `tags`. OpenKP: `url`, `text`, `KeyPhrases`, a list of
token lists, without a title.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from keywright.data.recognise import Head
from keywright.data.records import Id, Phrases, identifier, phrases, read_records
from keywright.errors import DataError
from keywright.files import Bad
from keywright.text.tokenise import looks_tokenised
from keywright.types import Document

_BODY = ("abstract", "question", "text")


class _Record(msgspec.Struct):
    title: str | None = None
    abstract: str | None = None
    question: str | None = None
    text: str | None = None
    keywords: Phrases | None = None
    keyword: Phrases | None = None
    keyphrases: Phrases | None = None
    tags: Phrases | None = None
    KeyPhrases: Phrases | None = None
    id: Id | None = None
    _id: Id | None = None
    paper_id: Id | None = None
    doc_id: Id | None = None
    url: Id | None = None


def recognise(head: Head) -> bool:
    record = head.record
    if record is None or "body" in record:
        return False
    if "title" in record:
        return any(field in record for field in _BODY)
    return {"url", "text"} <= record.keys()


def read(path: str | Path, bad: Bad) -> Iterator[tuple[int, Document]]:
    return read_records(path, _Record, _document, bad)


def _document(record: _Record) -> Document:
    title = record.title
    body = record.abstract
    if body is None:
        body = record.question
    if body is None:
        body = record.text
        if body is not None and title is None:
            title = ""  # the web pages of OpenKP have no titles
    if body is None:
        raise DataError(f"has no text: one of the fields {', '.join(_BODY)} is needed")
    if title is None:
        raise DataError('the field title is missing; write "title": "" if there is none')
    return Document(
        title=title,
        body=body,
        id=identifier(record.id, record._id, record.paper_id, record.doc_id, record.url),
        keyphrases=phrases(_gold(record)),
        tokenised=looks_tokenised(f"{title} {body}"),
    )


def _gold(record: _Record) -> Phrases | None:
    fields = (record.keywords, record.keyword, record.keyphrases, record.tags, record.KeyPhrases)
    return next((value for value in fields if value is not None), None)
