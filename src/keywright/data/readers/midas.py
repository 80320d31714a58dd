"""The midas corpora: `document` (a token list), `extractive_keyphrases`, `abstractive_keyphrases`.

As JSON lines, or directly from Hugging Face: `hf:midas/inspec`. A document is one list of words,
without a title.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from keywright.data.recognise import Head
from keywright.data.records import Id, identifier, read_records
from keywright.files import Bad
from keywright.text.tokenise import looks_tokenised
from keywright.types import Document


class _Record(msgspec.Struct):
    document: list[str]
    extractive_keyphrases: list[str] | None = None
    abstractive_keyphrases: list[str] | None = None
    id: Id | None = None
    paper_id: Id | None = None


def recognise(head: Head) -> bool:
    return head.record is not None and isinstance(head.record.get("document"), list)


def read(path: str | Path, bad: Bad) -> Iterator[tuple[int, Document]]:
    return read_records(path, _Record, _document, bad)


def _document(record: _Record) -> Document:
    body = " ".join(record.document)
    present, absent = record.extractive_keyphrases, record.abstractive_keyphrases
    has_gold = present is not None or absent is not None
    return Document(
        title="",
        body=body,
        id=identifier(record.id, record.paper_id),
        keyphrases=(*(present or ()), *(absent or ())) if has_gold else None,
        tokenised=looks_tokenised(body),
    )
