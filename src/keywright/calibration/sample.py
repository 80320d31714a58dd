"""The phrases of a corpus as columns: how confident the model was, and whether it was right."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, cast

import numpy as np

from keywright.calibration.ece import Flags, Indices
from keywright.calibration.entries import Entry, entries
from keywright.calibration.perplexity import Length
from keywright.errors import KeywrightError
from keywright.matches import PARTS, GoldPhrase
from keywright.metric import Array
from keywright.protocol import Protocol
from keywright.types import Document, Prediction

Source = Literal["kpp", "stated"]
"""A confidence is 1/KPP, or it is stated with the phrases."""
Confidence = Literal["auto", "own", "kpp", "stated"]
"""Which confidence to use: `auto` is the stated one if every phrase has it, 1/KPP otherwise; `own`,
which recalibration starts from, is 1/KPP if any phrase has it, because the stated one may be
recalibrated already."""

# The position of a present phrase that is not a run of whole words.
_ANYWHERE = 0.5


class Features(NamedTuple):
    """What recalibration may use: columns over phrases, or the numbers of one phrase."""

    confidence: Array | float
    words: Array | float
    rank: Array | float
    present: Flags | bool
    position: Array | float = _ANYWHERE

    def take(self, chosen: Flags) -> Features:
        """The chosen phrases of columns."""
        return Features(*(np.asarray(column)[chosen] for column in self))


@dataclass(frozen=True)
class Sample:
    """Phrases with a confidence. `gold` is [documents, 2]: present and absent gold phrases.

    `own` is 1/KPP (NaN if unknown), whatever `confidence` is; `before` is the confidence that
    recalibration starts from, or started from. `corpus` is a digest of the texts.
    """

    document: Indices
    present: Flags
    correct: Flags
    confidence: Array
    own: Array
    before: Array
    words: Array
    rank: Array
    position: Array
    gold: Array
    protocol: str
    length: Length
    source: Source
    corpus: str
    without_confidence: int = 0

    def __len__(self) -> int:
        return len(self.document)

    @property
    def documents(self) -> int:
        return len(self.gold)

    @property
    def features(self) -> Features:
        return Features(self.confidence, self.words, self.rank, self.present, self.position)

    def mask(self, part: str) -> Flags:
        """The phrases of a part: present, absent or all."""
        if part not in PARTS:
            raise ValueError(f"unknown part of the phrases: {part!r}")
        if part == "all":
            return np.ones(len(self), dtype=bool)
        return self.present if part == "present" else ~self.present

    def targets(self, part: str) -> Array:
        """The number of gold phrases of a part in each document."""
        present, absent = self.gold[:, 0], self.gold[:, 1]
        return present + absent if part == "all" else present if part == "present" else absent


class Columns:
    """Collects a sample, one document at a time."""

    def __init__(self, protocol: Protocol, length: Length = "words") -> None:
        self._protocol = protocol
        self._length = length
        self._rows: list[tuple[float, ...]] = []
        self._gold: list[tuple[int, int]] = []
        self._corpus = hashlib.sha256()

    def add(
        self, document: Document, prediction: Prediction, original: Prediction | None = None
    ) -> list[Entry]:
        """Add the phrases of a document and return them; `original` is before recalibration."""
        stated_before = {
            phrase.text: phrase.confidence for phrase in reversed((original or prediction).phrases)
        }
        judgement = self._protocol.judge(document, prediction.texts)
        number = len(self._gold)
        try:
            found = entries(document, prediction, judgement.phrases, self._length)
        except KeywrightError as error:
            raise KeywrightError(f"document {document.id or number + 1}: {error}") from None
        self._rows += [_row(number, entry, stated_before[entry.phrase.text]) for entry in found]
        self._corpus.update(document.text.encode(errors="surrogatepass"))
        self._gold.append(_gold_counts(judgement.gold))
        return found

    def sample(self, confidence: Confidence = "auto", start: Source | None = None) -> Sample:
        """`start` is what recalibration started from, if it was not this confidence."""
        table = np.array(self._rows, dtype=np.float64).reshape(-1, 9)
        own, stated, stated_before = table[:, 2], table[:, 7], table[:, 8]
        source = _source(confidence, own, stated)
        chosen = stated if source == "stated" else own
        known = ~np.isnan(chosen)
        before = stated_before if (start or source) == "stated" else own
        document, correct, _, words, rank, present, position, _, _ = table[known].T
        return Sample(
            document=document.astype(np.int64),
            present=present.astype(bool),
            correct=correct.astype(bool),
            confidence=chosen[known],
            own=own[known],
            before=before[known],
            words=words,
            rank=rank,
            position=position,
            gold=np.array(self._gold, dtype=np.float64).reshape(-1, 2),
            protocol=str(self._protocol),
            length=self._length,
            source=source,
            corpus=self._corpus.hexdigest(),
            without_confidence=int((~known).sum()),
        )


def _source(asked: Confidence, own: Array, stated: Array) -> Source:
    if asked == "auto":
        return "stated" if len(stated) and not np.isnan(stated).any() else "kpp"
    if asked == "own":
        return "stated" if np.isnan(own).all() and not np.isnan(stated).all() else "kpp"
    return asked


def _row(number: int, entry: Entry, before: float | None) -> tuple[float, ...]:
    return (
        number,
        entry.correct,
        *cast(tuple[float, ...], features(entry)),
        _number(_stated(entry)),
        _number(before),
    )


def _stated(entry: Entry) -> float | None:
    stated = entry.phrase.confidence
    if stated is not None and not 0 <= stated <= 1:
        raise KeywrightError(
            f"phrase {entry.phrase.text!r} has a confidence of {stated}; it must be between 0 and 1"
        )
    return stated


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def features(entry: Entry, source: Source = "kpp") -> Features:
    position = _ANYWHERE if entry.position is None else entry.position
    sure = entry.confidence if source == "kpp" else _stated(entry)
    return Features(_number(sure), entry.words, entry.rank, entry.present, position)


def _gold_counts(gold: Iterable[GoldPhrase]) -> tuple[int, int]:
    """The number of present and of absent gold phrases.

    Some protocols read no gold as one empty phrase, which nobody could have found.
    """
    found = [phrase for phrase in gold if phrase.stems.strip()]
    return sum(phrase.present for phrase in found), sum(phrase.absent for phrase in found)
