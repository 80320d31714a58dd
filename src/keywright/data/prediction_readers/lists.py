"""JSON lines of plain lists: `["first phrase", "second phrase"]`, or `{"keyphrases": [...]}`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import msgspec

from keywright.data.recognise import Head, is_json_list
from keywright.data.records import Id, identifier, read_records
from keywright.files import Bad
from keywright.types import Prediction, ScoredPhrase


class _Record(msgspec.Struct):
    keyphrases: list[str]
    id: Id | None = None


def recognise(head: Head) -> bool:
    if head.record is not None:
        return "keyphrases" in head.record and "phrases" not in head.record
    return is_json_list(next((line for line in head.lines if line.strip()), ""))


def read(path: str | Path, bad: Bad) -> Iterator[tuple[int, Prediction]]:
    kind = cast(type[_Record | list[str]], _Record | list[str])
    return read_records(path, kind, _prediction, bad)


def _prediction(record: _Record | list[str]) -> Prediction:
    texts = record if isinstance(record, list) else record.keyphrases
    return Prediction(
        phrases=tuple(ScoredPhrase(text=text) for text in texts),
        document_id=None if isinstance(record, list) else identifier(record.id),
    )
