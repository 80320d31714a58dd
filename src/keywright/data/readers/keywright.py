"""keywright's own JSON lines: `{"id", "title", "body", "keyphrases", "tokenised"}`.

Each line is a `Document`, so that nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from keywright.data.recognise import Head
from keywright.data.records import read_records
from keywright.files import Bad
from keywright.types import Document


def recognise(head: Head) -> bool:
    return head.record is not None and {"title", "body"} <= head.record.keys()


def read(path: str | Path, bad: Bad) -> Iterator[tuple[int, Document]]:
    return read_records(path, Document, lambda document: document, bad)
