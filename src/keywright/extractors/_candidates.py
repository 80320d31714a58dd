"""Candidate phrases: runs of words of a document, told apart by their stems.

The definitions are those of pke (Boudin 2016), which the field's papers run as baselines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TypeVar

from keywright.text.stem import stems
from keywright.text.tokenise import document_words
from keywright.types import Document, Prediction, ScoredPhrase

STOPWORDS = frozenset((Path(__file__).parent / "stopwords.txt").read_text("utf-8").split())
BORDER = "."  # between title and body, so that no phrase crosses it

Span = tuple[int, int]
"""The words [start, end) of a text."""
Stems = tuple[str, ...]
T = TypeVar("T")


@dataclass(frozen=True)
class Text:
    """The words of a document and their stems."""

    words: Sequence[str]
    stems: Sequence[str]

    @classmethod
    def of(cls, document: Document) -> Text:
        title, body = document_words(document)
        words = [*title, BORDER, *body]
        return cls(words, stems(words))

    def occurrences(self, spans: Iterable[Span]) -> dict[Stems, list[Span]]:
        """The spans that spell the same stems, in the order of their first occurrence."""
        places: dict[Stems, list[Span]] = {}
        for start, end in spans:
            places.setdefault(tuple(self.stems[start:end]), []).append((start, end))
        return places

    def prediction(
        self, document: Document, scored: Iterable[tuple[Span, float]], most: int
    ) -> Prediction:
        """The best spans, spelt as they stand in the text; of equals the earlier one first."""
        best = sorted(scored, key=lambda pair: (-pair[1], pair[0]))[:most]
        return Prediction(
            document_id=document.id,
            phrases=tuple(
                ScoredPhrase(text=" ".join(self.words[start:end]), words=end - start, score=score)
                for (start, end), score in best
            ),
        )


def is_word(word: str) -> bool:
    """What pke lets stand in a phrase: letters and digits, more than one."""
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
