"""Features of candidates, as a matrix for boosted trees.

A fitted ranker stores the names of the columns that its trees read, in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keywright.errors import KeywrightError
from keywright.ranking.candidates import Occurrences, RankerView, Runs
from keywright.ranking.keys import Keys, keys, word_keys
from keywright.ranking.meaning import Meaning, Meanings
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
from keywright.ranking.span_tagger import LogOdds
from keywright.ranking.structure import Structure
from keywright.ranking.topics import Topic, Topics
from keywright.text.reading import Stems

Matrix = NDArray[np.float32]
Column = NDArray[np.floating[Any]]

NOT_A_LABEL = -20.0  # below any log-probability that matters
MOST_ABSENT = 40  # candidates that do not occur in the text
# How much more a document must resemble another genre than those of the start, in mean log-ratios.
MARGIN = 0.2
LONGEST_TITLE = 30  # words
OVER = ("least", "most", "mean")  # of the words of a phrase
RAREST = 1e-6  # share of documents, so that unknown words have a logarithm


@dataclass(frozen=True)
class Generated:
    """A phrase that a generator predicted."""

    text: str
    rank: int
    mean_log_prob: float
    least_log_prob: float


Written = Mapping[Stems, Generated]


class Block(NamedTuple):
    """Some features."""

    names: tuple[str, ...]
    values: NDArray[np.floating[Any]]  # [C, F]

    @classmethod
    def of(cls, columns: Mapping[str, Column]) -> Block:
        return cls(tuple(columns), np.stack(list(columns.values()), axis=1))

    @classmethod
    def joined(cls, *blocks: Block) -> Block:
        values = [block.values for block in blocks]
        return cls(
            tuple(chain.from_iterable(block.names for block in blocks)),
            np.concatenate(values, axis=1, dtype=np.float32, casting="same_kind"),
        )

    def column(self, name: str) -> Column:
        """[C]"""
        return self.values[:, self.names.index(name)]


@dataclass(frozen=True)
class CandidateFeatures:
    """Phrases of one document with their features."""

    phrases: list[Stems]
    texts: list[str]
    features: Block
    genre: int  # the book that the document resembles most
    log_odds: Column | None = None  # [C] of the start's trees, for a document that they suffice for

    @property
    def columns(self) -> dict[str, Column]:
        return dict(zip(self.features.names, self.features.values.T, strict=True))

    def matrix(self, names: Sequence[str]) -> Matrix:
        """The named features [C, F]."""
        places = _places(self.features.names, tuple(names))
        return self.features.values.astype(np.float32, copy=False)[:, places]


@lru_cache(64)  # there are only a few kinds of documents and of trees
def _places(names: tuple[str, ...], wanted: tuple[str, ...]) -> NDArray[np.int64]:
    """Which of the names are the wanted ones."""
    place = {name: number for number, name in enumerate(names)}
    for name in wanted:
        if name not in place:
            raise KeywrightError(
                f"the ranker reads the feature {name}, which this version of keywright does "
                "not compute; fit it again"
            )
    return np.array([place[name] for name in wanted], np.int64)


Part = Literal["present", "absent"]


@dataclass(frozen=True)
class SecondTrees:
    trees: Callable[[Matrix], Column]
    names: Sequence[str]


@dataclass(frozen=True)
class Start:
    """The trees of the ranker that a fit started from, whose books are the first of the phrasebook.

    Documents that resemble its books most are judged by its trees alone: they were fitted on many
    more documents of these genres. For other documents their log-odds are a feature.
    """

    books: int
    trees: Mapping[Part, Callable[[Matrix], Column]]  # features [C, F] -> log-odds [C]
    names: Mapping[Part, Sequence[str]]  # of the features that they read
    # More trees for present candidates of documents that are judged by the start alone.
    second: SecondTrees | None = None

    @cached_property
    def read(self) -> dict[Part, frozenset[str]]:
        """The features that are needed for a document that is judged by the start alone."""
        more = () if self.second is None else self.second.names
        return {
            "present": frozenset((*self.names["present"], *more)),
            "absent": frozenset(self.names["absent"]),
        }

    def home_log_odds(self, part: Part, known: CandidateFeatures) -> Column:
        """The log-odds of a document that is judged by the start alone [C].

        Those of both forests are averaged: they were fitted with different features, and their
        mistakes differ.
        """
        first = self.trees[part](known.matrix(self.names[part]))
        if self.second is None or part != "present":
            return first
        return (first + self.second.trees(known.matrix(self.second.names))) / 2


@dataclass(frozen=True)
class Knowledge:
    """Everything besides the document that features are computed from."""

    book: Phrasebook
    topics: Topics
    span_tagger: Callable[[RankerView], LogOdds]
    meaning: Meaning
    start: Start | None = None

    def is_home(self, genres: NDArray[np.float64]) -> bool:
        """Whether a document with these resemblances [books] is left to the trees of the start."""
        if self.start is None:
            return False
        others = genres[self.start.books :]
        return bool(others.max(initial=-np.inf) < genres[: self.start.books].max() + MARGIN)

    def is_typical(self, genres: NDArray[np.float64]) -> bool:
        """Whether a document with these resemblances [books] is one of the start's genres."""
        if self.start is None:
            return True
        others = genres[self.start.books :]
        return bool(others.max(initial=-np.inf) < genres[: self.start.books].max())

    def at_home(self, view: RankerView) -> bool:
        rows = self.book.words.look_up(view.keys)
        return self.is_home(self.book.genres(rows[:, WORD_DOCUMENTS::WORD_COLUMNS]))


@dataclass(frozen=True)
class Words:
    """What is known about some words."""

    number: Mapping[str, int]  # stem -> its place below
    documents: Matrix  # [W, books] how many have it
    # [V, W] count in the document, whether in its title, similarity to its topic, rate; and of each
    # book: log of documents, share of them that have it in a keyphrase
    values: Matrix
    first: Matrix  # [books, W] share of documents that have it as the first word of a keyphrase
    last: Matrix  # [books, W]


class Judged:
    """The candidates of one document, with features computed from what is known."""

    @classmethod
    def all(
        cls, views: Sequence[RankerView], knowledge: Knowledge, written: Sequence[Written]
    ) -> list[Judged]:
        """Several documents, in less time than one after another."""
        topics = knowledge.topics.of([view.terms for view in views])
        return [
            cls(view, knowledge, each, topic=topic)
            for view, each, topic in zip(views, written, topics, strict=True)
        ]

    def __init__(
        self,
        view: RankerView,
        knowledge: Knowledge,
        written: Written,
        *,
        topic: Topic | None = None,
        at_home: bool | None = None,
    ):
        self.view = view
        self.book, self.topics = knowledge.book, knowledge.topics
        self.span_tagger = knowledge.span_tagger
        self.written = written
        self.topic = topic or self.topics.of([view.terms])[0]
        self._norm = float(np.linalg.norm(self.topic.vector)) or 1.0
        self._words = self._look_up(view.number, view.keys)
        self._start = knowledge.start
        self.genres = self.book.genres(self._words.documents)
        self._meaning = knowledge.meaning
        # Whether the document resembles the books of the start most.
        self.at_home = knowledge.is_home(self.genres) if at_home is None else at_home
        # Whether none of the other books resembles it more, without the margin.
        self.is_typical = knowledge.is_typical(self.genres)
        # Whether it is a record like those that the start learnt from: with a title, or only one.
        titled = view.title > 0 or len(view.words) <= LONGEST_TITLE
        self.is_record = titled and self.is_typical

    @cached_property
    def _structure(self) -> Structure:
        return Structure(self.view)

    @cached_property
    def _meanings(self) -> Meanings:
        return Meanings(self._meaning, self.view)

    def present(self, most: int | None = None) -> CandidateFeatures:
        """Runs of words: all of them, or the `most` that look most like keyphrases."""
        runs = self.view.runs
        compared = Block.of(self._contained(runs) | self._tagged(runs))
        chosen = np.arange(len(runs))
        if most is not None and most < len(runs):
            chosen = np.sort(np.argsort(-self._likely(compared, runs.at), kind="stable")[:most])
        phrases, texts = self.view.phrases(chosen), self.view.texts(chosen)
        features = Block.joined(
            self._document(len(phrases)),
            Block.of(self._counted(runs.at, chosen, texts)),
            Block(compared.names, compared.values[chosen]),
            self._common(phrases, self._words),
        )
        if self._needs_more(features, "present"):
            more = self._placed(phrases, runs.at.of(chosen)) | self._related(phrases)
            features = Block.joined(features, Block.of(more))
        return self._candidates(phrases, self.view.spelled(chosen, texts), features, "present")

    def absent(self) -> CandidateFeatures:
        """Phrases that the generator predicted and probable labels, if the text lacks them."""
        texts = {
            phrase: generated.text
            for phrase, generated in self.written.items()
            if not self.view.has(phrase)
        }
        for label in self.topic.best(2 * MOST_ABSENT).tolist():
            phrase = self.topics.label_stems[label]
            if not self.view.has(phrase):
                texts.setdefault(phrase, self.topics.labels[label])
            if len(texts) >= MOST_ABSENT:
                break
        return self.as_absent(texts)

    def as_absent(self, texts: Mapping[Stems, str]) -> CandidateFeatures:
        """Some phrases with their spellings, described as if the text lacked them."""
        phrases = list(texts)
        stems = dict.fromkeys(chain.from_iterable(phrases))
        number = {stem: place for place, stem in enumerate(stems)}
        words = self._look_up(number, word_keys(stems))
        features = Block.joined(self._document(len(phrases)), self._common(phrases, words))
        if self._needs_more(features, "absent"):
            more = self._related(phrases) | self._meanings.nearest(phrases)
            features = Block.joined(features, Block.of(more))
        return self._candidates(phrases, list(texts.values()), features, "absent")

    def _likely(self, compared: Block, at: Occurrences) -> Column:
        """How much each candidate looks like a keyphrase.

        The span tagger learnt from the books of the start; in other documents it overlooks names
        and frequent phrases.
        """
        tagged = compared.column("tagged.most")
        if self.at_home:
            return tagged
        return tagged + np.log(at.counts) + self._structure.capital(at)

    def _needs_more(self, features: Block, part: Part) -> bool:
        """Whether trees read features that are not among the cheap ones."""
        if self._start is None or not self.at_home:
            return True
        return not self._start.read[part].issubset(features.names)

    def _candidates(
        self, phrases: list[Stems], texts: list[str], features: Block, part: Part
    ) -> CandidateFeatures:
        start = self._start
        genres = self.genres[: start.books] if start is not None and self.at_home else self.genres
        genre = int(np.argmax(genres))
        known = CandidateFeatures(phrases, texts, features, genre)
        if start is None:
            return known
        if self.at_home:
            return replace(known, log_odds=start.home_log_odds(part, known))
        log_odds = start.trees[part](known.matrix(start.names[part]))
        return replace(known, features=Block.joined(features, Block.of({"start": log_odds})))

    def _document(self, size: int) -> Block:
        names, values = self._of_document
        return Block(names, np.broadcast_to(values, (size, len(names))))

    @cached_property
    def _of_document(self) -> Block:
        """Features that all candidates of the document share: [1, F]."""
        view = self.view
        best = self.topic.log_probs.max(initial=NOT_A_LABEL)
        values = {
            "document.words": len(view.words),
            "document.candidates": len(view.runs),
            "document.written": len(self.written),
            "document.best_topic": best,
            "document.title": view.title,
        }
        values |= {f"document.book{i}": value for i, value in enumerate(self._rarity())}
        values |= {f"document.genre{i}": value for i, value in enumerate(self.genres)}
        return Block(tuple(values), np.array([list(values.values())], np.float32))

    def _rarity(self) -> list[float]:
        """How much more frequent words are in each book than in all: in those of the start only."""
        books = len(self.book.sizes) if self._start is None else self._start.books
        sizes = np.array(self.book.sizes[:books], dtype=np.float32)
        rates = (self._words.documents[:, :books] + 1) / (sizes + 1)
        if not len(rates):
            return [0.0] * len(sizes)
        shares = np.log(rates / rates.mean(axis=1, keepdims=True))
        return [float(share) for share in shares.mean(axis=0)]

    def _look_up(self, number: Mapping[str, int], stems: Keys) -> Words:
        """What is known about distinct words, given their keys."""
        tally, titled = self.view.tally, self.view.titled
        counts = self.book.words.look_up(stems)
        documents = counts[:, WORD_DOCUMENTS::WORD_COLUMNS]
        known = counts.T.reshape(len(self.book.sizes), WORD_COLUMNS, len(stems))
        chances = known[:, WORD_DOCUMENTS] + 5
        shares = (known + 0.5) / chances[:, None]
        of_books = np.stack([np.log(chances), shares[:, WORD_KEYPHRASES]], axis=1)
        values = (
            [[tally.get(stem, 0) for stem in number]],
            [[stem in titled for stem in number]],
            self._similarities(stems)[None],
            self._rates(documents)[None],
            of_books.reshape(2 * len(of_books), len(stems)),
        )
        return Words(
            number,
            documents,
            np.concatenate(values, dtype=np.float32, casting="same_kind"),
            shares[:, WORD_FIRST],
            shares[:, WORD_LAST],
        )

    def _counted(
        self, at: Occurrences, chosen: NDArray[np.int64], texts: Sequence[str]
    ) -> dict[str, Column]:
        numbers = at.counts[chosen], at.first[chosen], at.last[chosen]
        count, first, last = np.array(numbers, np.float32)
        title, size = self.view.title, max(1, len(self.view.words))
        return {
            "count": count,
            "count.share": count / size,
            "first": first,
            "first.share": first / size,
            "spread": (last - first) / size,
            "in_title": (first < title).astype(np.float32),
            "after_title": (first - title) / size,
            "letters": np.array([len(text) for text in texts], np.float32),
        }

    def _contained(self, runs: Runs) -> dict[str, Column]:
        """The share of a phrase's occurrences within a longer candidate, and that of its parts."""
        counts = runs.at.counts.astype(np.float32)
        longer, shorter = runs.neighbours(counts, 0)
        return {"within": longer / counts, "parts": counts / np.maximum(shorter, 1)}

    def _placed(self, phrases: Sequence[Stems], at: Occurrences) -> dict[str, Column]:
        """Where a phrase and its words are in the text, and what is around them."""
        over = _Over(phrases, self._structure.number)
        central, before, after = self._structure.words.T
        least, most, mean = over(central[None])[0]
        return {
            **self._structure.columns(at),
            "central.least": least,
            "central.most": most,
            "central.mean": mean,
            "central.sum": mean * over.lengths,
            "varied.before": before[over.first],
            "varied.after": after[over.last],
        }

    def _related(self, phrases: Sequence[Stems]) -> dict[str, Column]:
        """How close phrases are to the document in meaning, and whether it has capitals at all."""
        cased = np.full(len(phrases), self._structure.cased, np.float32)
        return {"document.cased": cased, **self._meanings.columns(phrases)}

    def _tagged(self, runs: Runs) -> dict[str, Column]:
        """The span tagger's log-odds at the places where a phrase occurs."""
        at, size = runs.at, len(runs)
        odds = self.span_tagger(self.view)[at.starts, at.ends - at.starts - 1]
        most = np.maximum.reduceat(odds, at.begin) if size else odds
        better = np.empty(size, np.float32)
        better[np.argsort(-most, kind="stable")] = np.arange(size)
        longer, shorter = runs.neighbours(most, NOT_A_LABEL)
        return {
            "tagged.most": most,
            "tagged.mean": at.mean(odds),
            "tagged.first": odds[at.begin],
            "tagged.rank": np.log1p(better),
            "tagged.behind": most - most.max(initial=NOT_A_LABEL),
            "tagged.all": np.full(size, np.log1p(np.exp(most)).sum()),
            "tagged.longer": most - longer,
            "tagged.shorter": most - shorter,
        }

    def _common(self, phrases: Sequence[Stems], words: Words) -> Block:
        """Features that present and absent phrases share."""
        found, over = keys(phrases), _Over(phrases, words.number)
        return Block.joined(
            Block(("length",), over.lengths[:, None].astype(np.float32)),
            self._known(found),
            self._by_words(over, words),
            self._topical(found),
            self._generated(phrases),
        )

    def _known(self, phrases: Keys) -> Block:
        rows = self.book.phrases.look_up(phrases)
        documents, keyphrases = (
            rows[:, DOCUMENTS::PHRASE_COLUMNS],
            rows[:, KEYPHRASES::PHRASE_COLUMNS],
        )
        share = (keyphrases + 0.05) / (documents + 1)
        of_books = np.stack([np.log1p(documents), np.log1p(keyphrases), share], axis=2)
        rates = self._rates(documents), self._rates(keyphrases)
        names = _known_names(len(self.book.sizes))
        return Block(
            names, np.column_stack([of_books.reshape(len(rows), len(names) - len(rates)), *rates])
        )

    def _rates(self, counts: Matrix) -> Column:
        """Counts in each book [C, books] -> log of the mean share of documents [C]."""
        shares = counts / np.array(self.book.sizes, np.float32)
        return np.asarray(np.log(shares.mean(axis=1) + RAREST))

    def _by_words(self, over: _Over, words: Words) -> Block:
        """The least, the greatest and the mean value of what is known about a phrase's words."""
        books, size = len(self.book.sizes), len(over.lengths)
        spread = over(words.values)
        here = len(spread) - 2 * books
        of_books = (
            spread[here:].reshape(books, 2 * len(OVER), size),
            words.first[:, None, over.first],
            words.last[:, None, over.last],
        )
        values = (
            spread[:here].reshape(here * len(OVER), size),
            np.concatenate(of_books, axis=1).reshape(books * (2 * len(OVER) + 2), size),
        )
        return Block(_word_names(books), np.concatenate(values).T)

    def _similarities(self, stems: Keys) -> Column:
        """The cosine between each word's vector and the document's."""
        places = self.topics.terms.places(stems)
        known = places >= 0
        vectors = np.zeros((len(stems), self.topics.vectors.shape[1]), np.float32)
        vectors[known] = self.topics.vectors[places[known]]
        norms = np.maximum(np.linalg.norm(vectors, axis=1), 1e-6)
        return np.asarray(vectors @ self.topic.vector / (norms * self._norm), np.float32)

    def _topical(self, phrases: Keys) -> Block:
        labels = self.topics.label_places(phrases)
        known = labels >= 0
        log_probs = np.full(len(phrases), NOT_A_LABEL, np.float32)
        rank = np.full(len(phrases), len(self.topics.labels))
        log_probs[known] = self.topic.log_probs[labels[known]]
        rank[known] = self.topic.ranks(log_probs[known])
        return Block.of({"topic": log_probs, "topic.rank": np.log1p(rank)})

    def _generated(self, phrases: Sequence[Stems]) -> Block:
        missing = Generated("", -1, NOT_A_LABEL, NOT_A_LABEL)
        found = [self.written.get(phrase, missing) for phrase in phrases]
        rows = [(each.rank, each.mean_log_prob, each.least_log_prob) for each in found]
        names = "written.rank", "written.mean", "written.least"
        return Block(names, np.array(rows, np.float32).reshape(-1, len(names)))


@cache
def _known_names(books: int) -> tuple[str, ...]:
    kinds = "documents", "keyphrases", "keyphraseness"
    of_books = [f"{kind}{book}" for book in range(books) for kind in kinds]
    return (*of_books, "rate", "keyphrase.rate")


@cache
def _word_names(books: int) -> tuple[str, ...]:
    here = [
        f"word.{name}.{value}" for name in ("count", "title", "topic", "rate") for value in OVER
    ]
    of_books = [
        [
            *(
                f"word.{name}{book}.{value}"
                for name in ("documents", "keyphrase")
                for value in OVER
            ),
            f"word.first{book}",
            f"word.last{book}",
        ]
        for book in range(books)
    ]
    return (*here, *chain.from_iterable(of_books))


class _Over:
    """Values of words -> values of the phrases that consist of them."""

    def __init__(self, phrases: Sequence[Stems], number: Mapping[str, int]):
        every = np.array([number[stem] for phrase in phrases for stem in phrase], np.int64)
        self.lengths = np.array([len(phrase) for phrase in phrases], np.int64)
        begin = self.lengths.cumsum() - self.lengths
        at = np.arange(self.lengths.max(initial=1))
        # Shorter phrases repeat their last word, which changes neither minimum nor maximum.
        self._rows = every[begin[:, None] + np.minimum(at, self.lengths[:, None] - 1)]
        self._real = at < self.lengths[:, None]
        self.first, self.last = every[begin], every[begin + self.lengths - 1]

    def __call__(self, values: Matrix) -> NDArray[np.floating[Any]]:
        """[V, words] -> OVER the words of each phrase [V, 3, C]."""
        each = values[:, self._rows]
        mean = (each * self._real).sum(axis=2) / self.lengths
        return np.stack([each.min(axis=2), each.max(axis=2), mean], axis=1)
