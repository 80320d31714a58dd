"""OpenNMT-kpg's `.pred` JSON lines: `pred_sents` (token lists) with `pred_scores`.

The meaning of the scores depends on the decoder (length penalties, ensembles), so that they are
read as scores, not as log-probabilities.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from keywright.data.recognise import Head
from keywright.data.records import Id, identifier, read_records
from keywright.errors import DataError
from keywright.files import Bad
from keywright.types import Prediction, ScoredPhrase


class _Record(msgspec.Struct):
    pred_sents: list[str | list[str]]
    pred_scores: list[float | None] | None = None
    id: Id | None = None


def recognise(head: Head) -> bool:
    return head.record is not None and "pred_sents" in head.record


def read(path: str | Path, bad: Bad) -> Iterator[tuple[int, Prediction]]:
    return read_records(path, _Record, _prediction, bad)


def _prediction(record: _Record) -> Prediction:
    scores = record.pred_scores or [None] * len(record.pred_sents)
    if len(scores) != len(record.pred_sents):
        raise DataError(f"has {len(record.pred_sents)} pred_sents, but {len(scores)} pred_scores")
    return Prediction(
        phrases=tuple(
            ScoredPhrase(text=tokens if isinstance(tokens, str) else " ".join(tokens), score=score)
            for tokens, score in zip(record.pred_sents, scores, strict=True)
        ),
        document_id=identifier(record.id),
    )
