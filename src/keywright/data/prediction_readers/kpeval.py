"""KPEval's JSON lines: `source`, `target`, `predictions` (or `prediction`), joined by `;`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from keywright.data.recognise import Head
from keywright.data.records import Id, Phrases, identifier, phrases, read_records
from keywright.errors import DataError
from keywright.files import Bad
from keywright.types import Prediction, ScoredPhrase


class _Record(msgspec.Struct):
    predictions: Phrases | None = None
    prediction: Phrases | None = None
    id: Id | None = None


def recognise(head: Head) -> bool:
    return head.record is not None and not {"prediction", "predictions"}.isdisjoint(head.record)


def read(path: str | Path, bad: Bad) -> Iterator[tuple[int, Prediction]]:
    return read_records(path, _Record, _prediction, bad)


def _prediction(record: _Record) -> Prediction:
    texts = phrases(record.prediction if record.predictions is None else record.predictions)
    if texts is None:
        raise DataError("the field prediction (or predictions) is missing")
    return Prediction(
        phrases=tuple(ScoredPhrase(text=text) for text in texts),
        document_id=identifier(record.id),
    )
