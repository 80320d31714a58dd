"""The distinct phrases of a prediction: what each is, where it occurs, and how sure the model was.

There is one entry per distinct stemmed phrase of a document, for its first occurrence. The protocol
decides how words are split and stemmed, what is present and what is correct. Its filters are not
applied, because a phrase that F1 leaves out (`<unk>`, a single comma) has a confidence, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from keywright.calibration.perplexity import Length, confidence
from keywright.calibration.position import Source
from keywright.matches import JudgedPhrase
from keywright.types import Document, Prediction, ScoredPhrase


class Entry(NamedTuple):
    """A distinct phrase. `rank` counts from 0; `position` is None for an absent phrase."""

    phrase: ScoredPhrase
    stems: str
    rank: int
    present: bool
    correct: bool
    position: float | None
    confidence: float | None

    @property
    def words(self) -> int:
        return self.stems.count(" ") + 1


def entries(
    document: Document,
    prediction: Prediction,
    judged: Iterable[JudgedPhrase],
    length: Length = "words",
) -> list[Entry]:
    """The distinct phrases of a prediction that a protocol has read, in the prediction's order."""
    found: dict[str, Entry] = {}
    source: Source | None = None
    for index, read in with_words(judged):
        if read.stems in found:
            continue
        position = None
        if read.present:
            source = source or Source(document)
            position = source.position(read.stems)
        phrase = prediction.phrases[index]
        found[read.stems] = Entry(
            phrase,
            read.stems,
            len(found),
            read.present,
            read.correct,
            position,
            confidence(phrase, length),
        )
    return list(found.values())


def with_words(judged: Iterable[JudgedPhrase]) -> Iterable[tuple[int, JudgedPhrase]]:
    """The phrases that have words, each with the number of the predicted phrase it comes from."""
    for phrase in judged:
        if phrase.index is not None and phrase.stems.strip():
            yield phrase.index, phrase
