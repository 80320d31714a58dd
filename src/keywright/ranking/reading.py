"""A document as a ranker reads it: its words, and the runs of them that could be keyphrases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from keywright.extractors._candidates import BORDER, STOPWORDS, Stems
from keywright.ranking.keys import Keys, keys
from keywright.text.presence import padded
from keywright.text.stem import stems
from keywright.text.tokenise import DIGIT, document_words
from keywright.types import Document

LONGEST = 5  # words of a candidate
LONGEST_WORD = 100  # letters
NO_WORDS = frozenset({"<unk>", "<pad>"})


@dataclass(frozen=True)
class Candidate:
    """A run of words, and the places where it begins."""

    words: Sequence[str]
    places: list[int]

    @property
    def count(self) -> int:
        return len(self.places)


@dataclass(frozen=True)
class Reading:
    words: list[str]
    stems: list[str]
    title: int  # how many leading words are the title
    candidates: dict[Stems, Candidate]

    @classmethod
    def of(cls, document: Document, most_words: int) -> Reading:
        words, stemmed, title = read_words(document, most_words)
        return cls(words, stemmed, title, _candidates(words, stemmed))

    @cached_property
    def tally(self) -> Counter[str]:
        """How often each stem occurs."""
        return Counter(self.stems)

    @cached_property
    def titled(self) -> frozenset[str]:
        return frozenset(self.stems[: self.title])

    @cached_property
    def _padded(self) -> str:
        return padded(self.stems)

    def has(self, phrase: Stems) -> bool:
        """Whether a phrase is present."""
        return padded(phrase) in self._padded

    @cached_property
    def terms(self) -> Keys:
        """The distinct stems and pairs of neighbours: what topics are told by."""
        pairs = zip(self.stems, self.stems[1:], strict=False)
        return np.unique(keys([*((stem,) for stem in self.tally), *pairs]))


def read_words(document: Document, most_words: int) -> tuple[list[str], list[str], int]:
    """The first words of a document, their stems, and how many of them are its title."""
    title, body = document_words(document)
    words = [*title, BORDER, *body][:most_words]
    return words, stems(words), min(len(title), len(words))


def is_mark(word: str) -> bool:
    """Whether a word is punctuation, or too long for a word: no phrase reaches over it."""
    return len(word) > LONGEST_WORD or word in NO_WORDS or not any(map(str.isalnum, word))


def can_begin(word: str) -> bool:
    return len(word) > 1 and word != DIGIT


def _candidates(words: Sequence[str], stemmed: Sequence[str]) -> dict[Stems, Candidate]:
    found: dict[Stems, Candidate] = {}
    inner = [not is_mark(word) for word in words]
    outer = [ok and word not in STOPWORDS for ok, word in zip(inner, words, strict=True)]
    for start, word in enumerate(words):
        if not outer[start] or not can_begin(word):
            continue
        for end in range(start + 1, min(start + LONGEST, len(words)) + 1):
            if not inner[end - 1]:
                break
            if not outer[end - 1]:
                continue
            phrase = tuple(stemmed[start:end])
            seen = found.get(phrase)
            if seen is None:
                found[phrase] = Candidate(words[start:end], [start])
            else:
                seen.places.append(start)
    return found
