"""Candidate phrases: runs of words of a document, distinguished by their stems.

The definitions are those of pke (Boudin 2016), which the field's papers run as baselines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TypeVar

from keywright.text.reading import Reading, Stems
from keywright.types import Document, Prediction, ScoredPhrase

STOPWORDS = frozenset((Path(__file__).parent / "stopwords.txt").read_text("utf-8").split())

Span = tuple[int, int]
"""The words [start, end) of a text."""
T = TypeVar("T")


@dataclass(frozen=True)
class CandidateText:
    """The words of a document and their stems, with a border between title and body."""

    words: Sequence[str]
    stems: Sequence[str]

    @classmethod
    def of(cls, document: Document) -> CandidateText:
        return cls(*Reading.of(document).bordered())

    def occurrences(self, spans: Iterable[Span]) -> dict[Stems, list[Span]]:
        """The spans of each sequence of stems, in the order of their first occurrence."""
        places: dict[Stems, list[Span]] = {}
        for start, end in spans:
            places.setdefault(tuple(self.stems[start:end]), []).append((start, end))
        return places

    def prediction(
        self, document: Document, scored: Iterable[tuple[Span, float]], most: int
    ) -> Prediction:
        """The best spans, written as in the text; of equal ones the earlier first."""
        best = sorted(scored, key=lambda pair: (-pair[1], pair[0]))[:most]
        return self.ranked(document, best)

    def ranked(self, document: Document, best: Iterable[tuple[Span, float]]) -> Prediction:
        """Spans with their scores in the order given, written as in the text."""
        return Prediction(
            document_id=document.id,
            phrases=tuple(
                ScoredPhrase(text=" ".join(self.words[start:end]), words=end - start, score=score)
                for (start, end), score in best
            ),
        )


def is_word(word: str) -> bool:
    """Whether pke allows a word in a phrase: at least two characters, all letters or digits."""
    return len(word) > 1 and word.isalnum()


def runs(values: Sequence[T], accept: Callable[[T], bool]) -> Iterator[Span]:
    """The longest runs of accepted values."""
    for accepted, run in groupby(range(len(values)), key=lambda at: accept(values[at])):
        if accepted:
            places = list(run)
            yield places[0], places[-1] + 1


def ngrams(span: Span, longest: int) -> Iterator[Span]:
    """All runs of up to `longest` words within a span."""
    first, last = span
    for start in range(first, last):
        for end in range(start + 1, min(start + longest, last) + 1):
            yield start, end
