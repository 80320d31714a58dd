"""Features from what is known about phrases and their words: counts, topics, generated phrases.

The phrases of many documents are looked up together: for the few of one document, most of the time
would be spent on calling numpy. Every number depends on one document alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keywright.ranking.blocks import Block, Column, Matrix, parts
from keywright.ranking.candidates import RankerView
from keywright.ranking.keys import Keys, keys
from keywright.ranking.phrasebook import (
    DOCUMENTS,
    KEYPHRASES,
    PHRASE_COLUMNS,
    WORD_COLUMNS,
    WORD_DOCUMENTS,
    WORD_FIRST,
    WORD_KEYPHRASES,
    WORD_LAST,
    Phrasebook,
)
from keywright.ranking.topics import Topic, Topics
from keywright.text.reading import Stems

NOT_A_LABEL = -20.0  # below any log-probability that matters
RAREST = 1e-6  # share of documents, so that unknown words have a logarithm
HERE = ("count", "title", "topic", "rate")  # of a word
OF_BOOK = ("documents", "keyphrase")  # of a word, in each book
OVER = ("least", "most", "mean")  # of the words of a phrase
WRITTEN = ("written.rank", "written.mean", "written.least")


@dataclass(frozen=True)
class Generated:
    """A phrase that a generator predicted."""

    text: str
    rank: int
    mean_log_prob: float
    least_log_prob: float


Written = Mapping[Stems, Generated]


@dataclass(frozen=True)
class Context:
    """A document, as far as what is known about phrases depends on it."""

    view: RankerView
    topic: Topic
    written: Written


@dataclass(frozen=True)
class Words:
    """What is known about some words in their document."""

    number: Mapping[str, int]  # stem -> its place below
    documents: Matrix  # [W, books] how many have it
    values: Matrix  # [V, W] HERE, and OF_BOOK for each book
    first: Matrix  # [books, W] share of documents that have it as the first word of a keyphrase
    last: Matrix  # [books, W]

    def part(self, number: Mapping[str, int], place: slice) -> Words:
        """Some neighbouring words."""
        first, last = self.first[:, place], self.last[:, place]
        return Words(number, self.documents[place], self.values[:, place], first, last)


@dataclass(frozen=True)
class Known:
    """The tables in which phrases and words are looked up."""

    book: Phrasebook
    topics: Topics

    def words(
        self, contexts: Sequence[Context], numbers: Sequence[Mapping[str, int]], stems: Keys
    ) -> list[Words]:
        """What is known about the distinct words of each context; `stems` are the keys of all."""
        places = parts([len(number) for number in numbers])
        counts = self.book.words.look_up(stems)
        documents = counts[:, WORD_DOCUMENTS::WORD_COLUMNS]
        of_books = counts.T.reshape(len(self.book.sizes), WORD_COLUMNS, len(stems))
        chances = of_books[:, WORD_DOCUMENTS] + 5
        shares = (of_books + 0.5) / chances[:, None]
        of_books = np.stack([np.log(chances), shares[:, WORD_KEYPHRASES]], axis=1)
        values = (
            _here(contexts, numbers),
            self._similarities(contexts, places, stems)[None],
            self._rates(documents)[None],
            of_books.reshape(len(OF_BOOK) * len(of_books), len(stems)),
        )
        every = Words(
            {},
            documents,
            np.concatenate(values, dtype=np.float32, casting="same_kind"),
            shares[:, WORD_FIRST],
            shares[:, WORD_LAST],
        )
        return [every.part(*pair) for pair in zip(numbers, places, strict=True)]

    def _similarities(
        self, contexts: Sequence[Context], places: Sequence[slice], stems: Keys
    ) -> Column:
        """The cosine between each word's vector and its document's."""
        found = self.topics.terms.places(stems)
        known = found >= 0
        vectors = np.zeros((len(stems), self.topics.vectors.shape[1]), np.float32)
        vectors[known] = self.topics.vectors[found[known]]
        norms = np.maximum(np.linalg.norm(vectors, axis=1), 1e-6)
        cosines = np.empty(len(stems), np.float32)
        for context, place in zip(contexts, places, strict=True):
            topic = context.topic
            cosines[place] = vectors[place] @ topic.vector / (norms[place] * topic.norm)
        return cosines

    def _rates(self, counts: Matrix) -> Column:
        """Counts in each book [C, books] -> log of the mean share of documents [C]."""
        shares = counts / np.array(self.book.sizes, np.float32)
        return np.asarray(np.log(shares.mean(axis=1) + RAREST))

    def features(
        self,
        contexts: Sequence[Context],
        phrases: Sequence[Sequence[Stems]],
        words: Sequence[Words],
    ) -> Block:
        """The features of phrases of each context, which consist of `words`."""
        every = list(chain.from_iterable(phrases))
        found = keys(every)
        places = parts([len(each) for each in phrases])
        over = Over(phrases, [each.number for each in words])
        return Block.joined(
            Block(("length",), over.lengths[:, None].astype(np.float32)),
            self._counted(found),
            self._by_words(over, words),
            self._topical(contexts, places, found),
            _generated(contexts, phrases),
        )

    def _counted(self, phrases: Keys) -> Block:
        rows = self.book.phrases.look_up(phrases)
        documents = rows[:, DOCUMENTS::PHRASE_COLUMNS]
        keyphrases = rows[:, KEYPHRASES::PHRASE_COLUMNS]
        share = (keyphrases + 0.05) / (documents + 1)
        of_books = np.stack([np.log1p(documents), np.log1p(keyphrases), share], axis=2)
        rates = self._rates(documents), self._rates(keyphrases)
        names = _counted_names(len(self.book.sizes))
        of_books = of_books.reshape(len(rows), len(names) - len(rates))
        return Block(names, np.column_stack([of_books, *rates]))

    def _by_words(self, over: Over, words: Sequence[Words]) -> Block:
        """The least, the greatest and the mean value of what is known about a phrase's words."""
        books, size = len(self.book.sizes), len(over.lengths)
        spread = over(np.concatenate([each.values for each in words], axis=1))
        first = np.concatenate([each.first for each in words], axis=1)
        last = np.concatenate([each.last for each in words], axis=1)
        of_books = (
            spread[len(HERE) :].reshape(books, len(OF_BOOK) * len(OVER), size),
            first[:, None, over.first],
            last[:, None, over.last],
        )
        names = _word_names(books)
        here = spread[: len(HERE)].reshape(len(HERE) * len(OVER), size)
        rest = np.concatenate(of_books, axis=1).reshape(len(names) - len(here), size)
        return Block(names, np.concatenate([here, rest]).T)

    def _topical(
        self, contexts: Sequence[Context], places: Sequence[slice], phrases: Keys
    ) -> Block:
        """How probable phrases are as labels."""
        labels = self.topics.label_places(phrases)
        log_probs = np.full(len(phrases), NOT_A_LABEL, np.float32)
        rank = np.full(len(phrases), len(self.topics.labels))
        for context, place in zip(contexts, places, strict=True):
            known = place.start + np.flatnonzero(labels[place] >= 0)
            log_probs[known] = context.topic.log_probs[labels[known]]
            rank[known] = context.topic.ranks(log_probs[known])
        return Block.of({"topic": log_probs, "topic.rank": np.log1p(rank)})


def _here(contexts: Sequence[Context], numbers: Sequence[Mapping[str, int]]) -> Matrix:
    """Of each word its count in the document, and whether it is in its title [2, W]."""
    count: list[int] = []
    titled: list[bool] = []
    for context, number in zip(contexts, numbers, strict=True):
        tally, title = context.view.tally, context.view.titled
        count += [tally.get(stem, 0) for stem in number]
        titled += [stem in title for stem in number]
    return np.array([count, titled], np.float32)


def _generated(contexts: Sequence[Context], phrases: Sequence[Sequence[Stems]]) -> Block:
    missing = Generated("", -1, NOT_A_LABEL, NOT_A_LABEL)
    found = [
        context.written.get(phrase, missing)
        for context, each in zip(contexts, phrases, strict=True)
        for phrase in each
    ]
    rows = [(each.rank, each.mean_log_prob, each.least_log_prob) for each in found]
    return Block(WRITTEN, np.array(rows, np.float32).reshape(-1, len(WRITTEN)))


@cache
def _counted_names(books: int) -> tuple[str, ...]:
    kinds = "documents", "keyphrases", "keyphraseness"
    of_books = [f"{kind}{book}" for book in range(books) for kind in kinds]
    return (*of_books, "rate", "keyphrase.rate")


@cache
def _word_names(books: int) -> tuple[str, ...]:
    names = [f"word.{name}.{value}" for name in HERE for value in OVER]
    for book in range(books):
        names += [f"word.{name}{book}.{value}" for name in OF_BOOK for value in OVER]
        names += [f"word.first{book}", f"word.last{book}"]
    return tuple(names)


class Over:
    """Values of words -> values of the phrases that consist of them.

    The words of each document have places of their own, one document after another.
    """

    def __init__(self, phrases: Sequence[Sequence[Stems]], numbers: Sequence[Mapping[str, int]]):
        places: list[int] = []
        begin = 0
        for each, number in zip(phrases, numbers, strict=True):
            places += [begin + number[stem] for phrase in each for stem in phrase]
            begin += len(number)
        every = np.array(places, np.int64)
        lengths = [len(phrase) for each in phrases for phrase in each]
        self.lengths = np.array(lengths, np.int64)
        self._begin = self.lengths.cumsum() - self.lengths
        self._every = every
        self.first, self.last = every[self._begin], every[self._begin + self.lengths - 1]

    def __call__(self, values: Matrix) -> NDArray[np.floating[Any]]:
        """[V, words] -> OVER the words of each phrase [V, 3, C]."""
        least = values[:, self.first]
        most, total = least.copy(), least.copy()
        for more in range(1, self.lengths.max(initial=1)):
            longer = np.flatnonzero(self.lengths > more)
            each = values[:, self._every[self._begin[longer] + more]]
            least[:, longer] = np.minimum(least[:, longer], each)
            most[:, longer] = np.maximum(most[:, longer], each)
            total[:, longer] += each
        return np.stack([least, most, total / self.lengths], axis=1)
