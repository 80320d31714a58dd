"""A document as a ranker reads it: its first words, and the runs of them that may be keyphrases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from keywright.ranking.keys import Keys, keys
from keywright.text.candidates import STOPWORDS
from keywright.text.reading import Reading, Stems
from keywright.text.tokenise import DIGIT
from keywright.types import Document

LONGEST = 5  # words of a candidate
LONGEST_WORD = 100  # letters
NOT_WORDS = frozenset({"<unk>", "<pad>"})


@dataclass(frozen=True)
class Candidate:
    """A run of words, and the positions at which it begins."""

    words: Sequence[str]
    places: list[int]

    @property
    def count(self) -> int:
        return len(self.places)


@dataclass(frozen=True)
class RankerView:
    """The first words of a document, a border between title and body among them."""

    words: list[str]
    stems: list[str]
    title: int  # how many leading words are the title
    candidates: dict[Stems, Candidate]
    reading: Reading

    @classmethod
    def of(cls, document: Document, most_words: int) -> RankerView:
        words, stemmed, title = read_words(document, most_words)
        candidates = _candidates(words, stemmed)
        return cls(words, stemmed, title, candidates, Reading.of(document))

    @cached_property
    def tally(self) -> Counter[str]:
        """How often each stem occurs."""
        return Counter(self.stems)

    @cached_property
    def titled(self) -> frozenset[str]:
        """The stems of the title."""
        return frozenset(self.stems[: self.title])

    def has(self, phrase: Stems) -> bool:
        """Whether a phrase is present in the words that are read."""
        border = self.title < len(self.words)  # it is among the words
        return self.reading.has(phrase, len(self.words) - border)

    def spelling(self, candidate: Candidate) -> str:
        """The words of a candidate, with its most frequent numbers instead of `<digit>`."""
        if DIGIT not in candidate.words:
            return " ".join(candidate.words)
        found = Counter(
            tuple(map(self._spelled, range(place, place + len(candidate.words))))
            for place in candidate.places
        )
        return " ".join(found.most_common(1)[0][0])

    def _spelled(self, at: int) -> str:
        """A word; a number as it is written."""
        if self.words[at] != DIGIT:
            return self.words[at]
        token = at - (at > self.title)  # without the border
        return self.reading.text[self.reading.spans.starts[token] : self.reading.spans.ends[token]]

    @cached_property
    def terms(self) -> Keys:
        """The distinct stems and pairs of neighbours, the terms of topics: [T] rising."""
        pairs = zip(self.stems, self.stems[1:], strict=False)
        found = np.sort(keys([*((stem,) for stem in self.tally), *pairs]))
        is_new = np.ones(len(found), np.bool_)
        is_new[1:] = found[1:] != found[:-1]
        return found[is_new]  # as np.unique, whose first call imports numpy's masked arrays


def read_words(document: Document, most_words: int) -> tuple[list[str], list[str], int]:
    """The first words of a document, their stems, and how many of them are its title."""
    reading = Reading.of(document)
    words, stemmed = reading.bordered()
    words, stemmed = words[:most_words], stemmed[:most_words]
    return words, stemmed, min(reading.title_words, len(words))


def is_mark(word: str) -> bool:
    """Whether no phrase may contain a word: it is punctuation, or too long to be a word."""
    return len(word) > LONGEST_WORD or word in NOT_WORDS or not any(map(str.isalnum, word))


def can_begin(word: str) -> bool:
    """Whether a phrase may begin with a word."""
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
