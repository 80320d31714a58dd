"""KPEval's JSON lines as documents: `source` (`title [sep] abstract`) and `target`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from keywright.data.readers import deepkpg
from keywright.data.recognise import Head
from keywright.data.records import Id, Phrases, read_records
from keywright.files import Bad
from keywright.types import Document


class _Record(msgspec.Struct):
    source: str
    target: Phrases | None = None
    id: Id | None = None


def recognise(head: Head) -> bool:
    # With a title, `source` says where a document comes from.
    return head.record is not None and "source" in head.record and "title" not in head.record


def read(path: str | Path, bad: Bad) -> Iterator[tuple[int, Document]]:
    return read_records(
        path, _Record, lambda record: deepkpg.document(record.source, record.target, record.id), bad
    )
