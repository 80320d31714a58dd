"""A document as a ranker reads it: its first words, and the runs of them that may be keyphrases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keywright.ranking.keys import Keys, keys, word_keys
from keywright.text.candidates import STOPWORDS
from keywright.text.presence import padded
from keywright.text.reading import BORDER, Reading, Stems
from keywright.text.tokenise import DIGIT
from keywright.types import Document

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]

LONGEST = 5  # words of a candidate
LONGEST_WORD = 100  # letters
NOT_WORDS = frozenset({"<unk>", "<pad>"})
REMEMBERED = 50_000  # words whose kind is kept; documents share their words
INSIDE, AT_END, AT_START = 1, 2, 4  # where in a phrase a word may be


@dataclass(frozen=True)
class Candidate:
    """A run of words, and the positions at which it begins."""

    words: Sequence[str]
    places: list[int]

    @property
    def count(self) -> int:
        return len(self.places)


@dataclass(frozen=True)
class Occurrences:
    """Every place of every candidate; the places of one candidate follow each other."""

    starts: Numbers  # [O]
    counts: Numbers  # [C]
    lengths: Numbers  # [C] words

    @cached_property
    def begin(self) -> Numbers:
        """The first occurrence of each candidate [C]."""
        return np.asarray(self.counts.cumsum() - self.counts)

    @cached_property
    def ends(self) -> Numbers:
        return np.asarray(self.starts + self.lengths.repeat(self.counts))

    @property
    def first(self) -> Numbers:
        """Where each candidate begins for the first time [C]."""
        return self.starts[self.begin]

    @property
    def last(self) -> Numbers:
        return np.asarray(self.starts[self.begin + self.counts - 1])

    def of(self, chosen: Numbers) -> Occurrences:
        """Those of some candidates."""
        counts = self.counts[chosen]
        inside = np.arange(counts.sum()) - (counts.cumsum() - counts).repeat(counts)
        starts = self.starts[self.begin[chosen].repeat(counts) + inside]
        return Occurrences(starts, counts, self.lengths[chosen])

    def mean(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of occurrences [O] -> their mean for each candidate [C]."""
        return self.sum(values) / self.counts

    def sum(self, values: NDArray[Any]) -> NDArray[Any]:
        if not len(self.counts):
            return np.empty(0, np.float32)
        return np.asarray(np.add.reduceat(values.astype(np.float32), self.begin))


@dataclass(frozen=True)
class Runs:
    """The candidates of a document as numbers, in the order of their first occurrence."""

    at: Occurrences
    parts: Numbers  # [2, C] the candidate without its first, its last word; -1 if it is none

    def __len__(self) -> int:
        return len(self.at.counts)

    def neighbours(self, values: NDArray[Any], missing: float) -> tuple[NDArray[Any], NDArray[Any]]:
        """The greatest of the values [C] of candidates a word longer, and of those a word shorter.

        Both are [C], and `missing` for candidates that have no such neighbours.
        """
        longer = np.full(len(values) + 1, missing, values.dtype)
        for part in self.parts:
            np.maximum.at(longer, part, values)
        shorter = np.append(values, values.dtype.type(missing))[self.parts].max(axis=0)
        return longer[:-1], shorter


@dataclass(frozen=True)
class RankerView:
    """The first words of a document, a border between title and body among them."""

    words: list[str]
    stems: list[str]
    title: int  # how many leading words are the title
    reading: Reading

    @classmethod
    def of(cls, document: Document, most_words: int) -> RankerView:
        return cls(*read_words(document, most_words), Reading.of(document))

    @cached_property
    def tally(self) -> Counter[str]:
        """How often each stem occurs."""
        return Counter(self.stems)

    @cached_property
    def number(self) -> dict[str, int]:
        """The distinct stems, numbered in the order of their first occurrence."""
        return {stem: number for number, stem in enumerate(self.tally)}

    @cached_property
    def ids(self) -> Numbers:
        """The number of each word's stem."""
        number = self.number
        return np.array([number[stem] for stem in self.stems], np.int64)

    @cached_property
    def keys(self) -> Keys:
        """The keys of the distinct stems."""
        return word_keys(self.tally)

    @cached_property
    def titled(self) -> frozenset[str]:
        """The stems of the title."""
        return frozenset(self.stems[: self.title])

    @cached_property
    def kinds(self) -> Numbers:
        """Where in a phrase each word may be: sums of INSIDE, AT_END, AT_START."""
        return np.array([_kind(word) for word in self.words], np.int64)

    @cached_property
    def runs(self) -> Runs:
        return _runs(self.ids, self.kinds)

    @cached_property
    def candidates(self) -> dict[Stems, Candidate]:
        """The candidates by their stems."""
        size = len(self.runs)
        phrases = self.phrases(np.arange(size))
        return dict(zip(phrases, map(self.candidate, range(size)), strict=True))

    def phrases(self, numbers: Numbers) -> list[Stems]:
        """The stems of some candidates."""
        return [tuple(self.stems[start:end]) for start, end in self._first(numbers)]

    def texts(self, numbers: Numbers) -> list[str]:
        """The words of some candidates."""
        return [" ".join(self.words[start:end]) for start, end in self._first(numbers)]

    def _first(self, numbers: Numbers) -> Iterator[tuple[int, int]]:
        """The words [start, end) at which some candidates occur first."""
        starts = self.runs.at.first[numbers]
        ends = starts + self.runs.at.lengths[numbers]
        return zip(starts.tolist(), ends.tolist(), strict=True)

    def spelled(self, numbers: Numbers, texts: Sequence[str]) -> list[str]:
        """The words of some candidates, with their most frequent numbers instead of `<digit>`."""
        return [
            self.spelling(self.candidate(number)) if DIGIT in text else text
            for number, text in zip(numbers.tolist(), texts, strict=True)
        ]

    def candidate(self, number: int) -> Candidate:
        at = self.runs.at
        begin, count, length = (int(each[number]) for each in (at.begin, at.counts, at.lengths))
        places = at.starts[begin : begin + count].tolist()
        return Candidate(self.words[places[0] : places[0] + length], places)

    @cached_property
    def _padded(self) -> str:
        return padded(self.stems)

    def has(self, phrase: Stems) -> bool:
        """Whether a phrase is present in the words that are read."""
        if BORDER in phrase:  # it may be the border between title and body
            border = self.title < len(self.words)  # it is among the words
            return self.reading.has(phrase, len(self.words) - border)
        return bool(phrase) and padded(phrase) in self._padded

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
        pairs = dict.fromkeys(zip(self.stems, self.stems[1:], strict=False))
        found = np.sort(np.concatenate([self.keys, keys(pairs)]))
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


@lru_cache(REMEMBERED)
def _kind(word: str) -> int:
    if is_mark(word):
        return 0
    if word in STOPWORDS:
        return INSIDE
    return INSIDE | AT_END | (AT_START if can_begin(word) else 0)


def _runs(ids: Numbers, kinds: Numbers) -> Runs:
    """The candidates of a text, given the number of each stem and the kind of each word."""
    allowed, numbers = _allowed(kinds), _run_numbers(ids)
    starts, more = allowed.nonzero()  # more: words after the first
    found = numbers[starts, more]
    occurrence = np.arange(len(found))
    first = np.empty(numbers.size, np.int64)
    first[found[::-1]] = occurrence[::-1]  # the assignment that counts is the last one
    new = np.flatnonzero(first[found] == occurrence)
    candidate = np.full(numbers.size, -1)  # of each run
    candidate[found[new]] = np.arange(len(new))
    owner = candidate[found]
    at = Occurrences(
        starts[np.argsort(owner, kind="stable")],
        np.bincount(owner, minlength=len(new)),
        more[new] + 1,
    )
    return Runs(at, _parts(candidate, numbers, starts[new], more[new]))


def _parts(candidate: Numbers, numbers: Numbers, starts: Numbers, more: Numbers) -> Numbers:
    """The candidates without their first, or their last word [2, C]."""
    found = np.full((2, len(starts)), -1)
    longer = np.flatnonzero(more)
    begin, shorter = starts[longer], more[longer] - 1
    found[0, longer] = candidate[numbers[begin + 1, shorter]]
    found[1, longer] = candidate[numbers[begin, shorter]]
    return found


def _allowed(kinds: Numbers) -> Flags:
    """[W, LONGEST] whether 1, 2, ... words from each are a candidate."""
    found = np.zeros((len(kinds), LONGEST), np.bool_)
    inside, ends, unbroken = kinds & INSIDE > 0, kinds & AT_END > 0, kinds & AT_START > 0
    for more in range(min(LONGEST, len(kinds))):
        size = len(kinds) - more
        unbroken = unbroken[:size] & inside[more:]
        found[:size, more] = unbroken & ends[more:]
    return found


def _run_numbers(ids: Numbers) -> Numbers:
    """[W, LONGEST] a number for 1, 2, ... words from each: equal runs have equal numbers."""
    size = len(ids)
    found = np.zeros((size, LONGEST), np.int64)
    run = ids
    for more in range(min(LONGEST, size)):
        if more:
            run = distinct_numbers(run[: size - more] * size + ids[more:])
        found[: size - more, more] = run + more * size  # there are at most `size` of each length
    return found


def distinct_numbers(values: NDArray[np.integer[Any]]) -> Numbers:
    """0, 1, 2, ... for the distinct values, the least first; np.unique would take longer."""
    order = np.argsort(values, kind="stable")
    rising = values[order]
    found = np.zeros(len(values), np.int64)
    found[order[1:]] = (rising[1:] != rising[:-1]).cumsum()
    return found
