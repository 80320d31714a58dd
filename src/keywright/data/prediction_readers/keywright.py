"""keywright's own JSON lines: `{"document_id", "phrases": [{"text", "token_log_probs", ...}]}`.

Published variants are read as well: `id` instead of `document_id`, phrases that are plain strings,
and `token_probs` instead of `token_log_probs`. JSON has no infinities: `null` among the
log-probabilities is the logarithm of a probability of 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from keywright.data.recognise import Head
from keywright.data.records import Id, identifier, read_records
from keywright.errors import DataError
from keywright.files import Bad
from keywright.types import Prediction, ScoredPhrase

# In single precision, the probability of a certain token may be 1.0000001.
ROUNDING = 1e-4


class _Phrase(msgspec.Struct):
    text: str
    token_log_probs: tuple[float | None, ...] | None = None
    token_probs: tuple[float, ...] | None = None
    words: int | None = None
    confidence: float | None = None
    score: float | None = None


class _Record(msgspec.Struct):
    phrases: list[_Phrase | str]
    document_id: Id | None = None
    id: Id | None = None


def recognise(head: Head) -> bool:
    return head.record is not None and "phrases" in head.record


def read(path: str | Path, bad: Bad) -> Iterator[tuple[int, Prediction]]:
    return read_records(path, _Record, _prediction, bad)


def _prediction(record: _Record) -> Prediction:
    return Prediction(
        phrases=tuple(
            ScoredPhrase(text=phrase) if isinstance(phrase, str) else _scored(phrase)
            for phrase in record.phrases
        ),
        document_id=identifier(record.document_id, record.id),
    )


def _scored(phrase: _Phrase) -> ScoredPhrase:
    log_probs, words = phrase.token_log_probs, phrase.words
    if phrase.token_probs is not None:
        if log_probs is not None:
            raise DataError(f"phrase {phrase.text!r} has both token_probs and token_log_probs")
        log_probs = _logarithms(phrase.token_probs)
        if words is None:
            words = len(phrase.text.split())
    if words is not None and words < 0:  # its confidence would be above 1
        raise DataError(
            f"phrase {phrase.text!r} has words={words}; give the number of its words, or nothing"
        )
    if phrase.confidence is not None and not 0 <= phrase.confidence <= 1:
        raise DataError(
            f"phrase {phrase.text!r} has a confidence of {phrase.confidence}; it must be in [0, 1]"
        )
    return ScoredPhrase(
        text=phrase.text,
        token_log_probs=None if log_probs is None else _checked(log_probs),
        words=words,
        confidence=phrase.confidence,
        score=phrase.score,
    )


def _logarithms(probabilities: Sequence[float]) -> tuple[float, ...]:
    if probabilities and not 0 <= min(probabilities) <= max(probabilities) <= 1 + ROUNDING:
        raise DataError(f"token_probs must be in [0, 1], not {list(probabilities)}")
    return tuple(math.log(min(p, 1.0)) if p else -math.inf for p in probabilities)


def _checked(log_probs: Sequence[float | None]) -> tuple[float, ...]:
    values = tuple(-math.inf if value is None else value for value in log_probs)
    if values and max(values) > ROUNDING:
        raise DataError(f"token_log_probs must be at most 0, not {max(values)}")
    return values
