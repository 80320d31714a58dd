"""Where in the text present keyphrases occur, and where a model finds them.

Table 3 and figure 4 of "Deep Seq2Seq Keyphrase Generation: Model Calibration and Uncertainty": the
text is divided into sections of equal length, 20% of its characters each, and a phrase belongs to
the section in which it first occurs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from keywright.protocol import Protocol
from keywright.text.reading import Reading
from keywright.types import Document

SECTIONS = 5


class Source:
    """The words of a document's title and body, searched by stems."""

    def __init__(self, document: Document) -> None:
        reading = Reading.of(document)
        self._stemmed = reading.padded
        # Where each word would begin if single blanks separated the words, and the end of the last.
        self._starts = [0, *accumulate(len(word) + 1 for word in reading.words)]

    def position(self, phrase: str) -> float | None:
        """Where stems joined by blanks first occur: characters before it over all characters.

        Both count the characters of the words, not of their stems. Some protocols consider a
        phrase present that is not a run of words; then part of a word is accepted, or else the
        first word.
        """
        first = phrase.partition(" ")[0]
        for wanted in (f" {phrase} ", phrase, f" {first} "):
            at = self._stemmed.find(wanted)
            if wanted.strip() and at >= 0:
                words_before = self._stemmed.count(" ", 0, at + 1) - 1
                return self._starts[words_before] / (self._starts[-1] - 1)
        return None


def section(position: float, sections: int = SECTIONS) -> int:
    """The section, from 0, of a relative position."""
    return min(int(position * sections), sections - 1)


@dataclass(frozen=True)
class Sections:
    """Present phrases by the section they first occur in.

    `found` of the `gold` phrases are predicted, and `correct` of the `predicted` phrases are gold
    (the two are equal unless the gold contains a phrase twice).
    """

    gold: tuple[int, ...]
    found: tuple[int, ...]
    predicted: tuple[int, ...]
    correct: tuple[int, ...]

    @property
    def accuracy(self) -> tuple[float | None, ...]:
        """Figure 4: the share of a section's gold phrases that the model predicts."""
        return _shares(self.found, self.gold)

    @property
    def precision(self) -> tuple[float | None, ...]:
        return _shares(self.correct, self.predicted)


def _shares(some: Sequence[int], all_: Sequence[int]) -> tuple[float | None, ...]:
    return tuple(a / b if b else None for a, b in zip(some, all_, strict=True))


class SectionCounts:
    """Counts one document at a time, for a pass that collects other things as well."""

    def __init__(self, protocol: Protocol, sections: int = SECTIONS) -> None:
        self._protocol = protocol
        self._sections = sections
        self._counts = [[0] * sections for _ in range(4)]

    def add(self, document: Document, phrases: Sequence[str]) -> None:
        part = self._protocol.match(document, phrases).present
        source = Source(document)
        gold, found, predicted, correct = self._counts
        made = set(part.predictions)
        right = set(part.hits)
        for phrase in part.targets:
            if (at := self._section(source, phrase)) is not None:
                gold[at] += 1
                found[at] += phrase in made
        for rank, phrase in enumerate(part.predictions):
            if (at := self._section(source, phrase)) is not None:
                predicted[at] += 1
                correct[at] += rank in right

    def _section(self, source: Source, phrase: str) -> int | None:
        position = source.position(phrase)
        return None if position is None else section(position, self._sections)

    def total(self) -> Sections:
        return Sections(*map(tuple, self._counts))
