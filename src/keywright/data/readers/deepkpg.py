"""DeepKPG's JSON lines: `{"src": "title [sep] abstract", "tgt": "phrase ; phrase"}`.

OpenNMT-kpg writes `tgt` as a list.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from keywright.data.recognise import Head
from keywright.data.records import Id, Phrases, identifier, phrases, read_records
from keywright.files import Bad
from keywright.text.tokenise import looks_tokenised
from keywright.types import Document

BORDER = "[sep]"


class _Record(msgspec.Struct):
    src: str
    tgt: Phrases | None = None
    id: Id | None = None


def recognise(head: Head) -> bool:
    return head.record is not None and "src" in head.record and "title" not in head.record


def read(path: str | Path, bad: Bad) -> Iterator[tuple[int, Document]]:
    return read_records(
        path, _Record, lambda record: document(record.src, record.tgt, record.id), bad
    )


def document(source: str, gold: Phrases | None, id: Id | None) -> Document:
    """A document from a source whose title ends at `[sep]`; without one, it has no title."""
    title, border, body = source.partition(BORDER)
    if not border:
        title, body = "", source
    return Document(
        title=title.strip(),
        body=body.strip(),
        id=identifier(id),
        keyphrases=phrases(gold),
        tokenised=looks_tokenised(source.replace(BORDER, "")),
    )
