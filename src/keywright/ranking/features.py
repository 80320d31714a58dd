"""Features of candidates, as a matrix for boosted trees.

A fitted ranker stores the names of the columns that its trees read, in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from keywright.errors import KeywrightError
from keywright.ranking.candidates import Candidate, RankerView
from keywright.ranking.keys import Keys, keys
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
from keywright.ranking.structure import Occurrences, Structure
from keywright.ranking.topics import Topic, Topics
from keywright.text.reading import Stems

Matrix = NDArray[np.float32]
Column = NDArray[np.floating[Any]]

NOT_A_LABEL = -20.0  # below any log-probability that matters
MOST_ABSENT = 40  # candidates that do not occur in the text
# How much more a document must resemble another genre than those of the start, in mean log-ratios.
MARGIN = 0.2
LONGEST_TITLE = 30  # words
RAREST = 1e-6  # share of documents, so that unknown words have a logarithm


@dataclass(frozen=True)
class Generated:
    """A phrase that a generator predicted."""

    text: str
    rank: int
    mean_log_prob: float
    least_log_prob: float


Written = Mapping[Stems, Generated]


@dataclass(frozen=True)
class CandidateFeatures:
    """Phrases of one document with their features."""

    phrases: list[Stems]
    texts: list[str]
    columns: Mapping[str, Column]  # each [C]
    genre: int  # the book that the document resembles most
    log_odds: Column | None = None  # [C] of the start's trees, for a document that they suffice for

    def matrix(self, names: Sequence[str]) -> Matrix:
        """The named features [C, F]."""
        unknown = [name for name in names if name not in self.columns]
        if unknown:
            raise KeywrightError(
                f"the ranker reads the feature {unknown[0]}, which this version of keywright does "
                "not compute; fit it again"
            )
        return np.stack([self.columns[name] for name in names], axis=1).astype(np.float32)


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

    def read(self, part: Part) -> set[str]:
        """The features that are needed for a document that is judged by the start alone."""
        more = self.second.names if self.second is not None and part == "present" else ()
        return {*self.names[part], *more}

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
        rows = self.book.words.look_up(keys((stem,) for stem in view.tally))
        return self.is_home(self.book.genres(rows[:, WORD_DOCUMENTS::WORD_COLUMNS]))


@dataclass(frozen=True)
class Words:
    """What is known about some words: one row for each."""

    number: Mapping[str, int]  # stem -> row
    counts: Matrix  # [W, WORD_COLUMNS * books]
    here: Matrix  # [W, 3] count in the document, whether in its title, similarity to its topic


class Judged:
    """The candidates of one document, with features computed from what is known."""

    def __init__(
        self,
        view: RankerView,
        knowledge: Knowledge,
        written: Written,
        at_home: bool | None = None,
    ):
        self.view = view
        self.book, self.topics = knowledge.book, knowledge.topics
        self.span_tagger = knowledge.span_tagger
        self.written = written
        self.topic: Topic = self.topics.of(view.terms)
        self._norm = float(np.linalg.norm(self.topic.vector)) or 1.0
        self._words = self._look_up(view.tally)
        self._start = knowledge.start
        self.genres = self.book.genres(self._words.counts[:, WORD_DOCUMENTS::WORD_COLUMNS])
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
        return Meanings(self._meaning, self.view.tally, self.view.titled)

    def present(self, most: int | None = None) -> CandidateFeatures:
        """Runs of words: all of them, or the `most` that look most like keyphrases.

        The span tagger learnt from the books of the start; in other documents it overlooks names
        and frequent phrases.
        """
        phrases, seen = list(self.view.candidates), list(self.view.candidates.values())
        at = Occurrences.of(seen)
        tagged = self._tagged(phrases, at)
        if most is not None and most < len(phrases):
            likely = tagged["tagged.most"]
            if not self.at_home:
                likely = likely + np.log(at.counts) + self._structure.capital(at)
            chosen = np.sort(np.argsort(-likely, kind="stable")[:most])
            tagged = {name: column[chosen] for name, column in tagged.items()}
            phrases, seen = [phrases[at] for at in chosen], [seen[at] for at in chosen]
        texts = [" ".join(candidate.words) for candidate in seen]
        columns = {
            **self._document(len(phrases)),
            **self._counted(seen, texts),
            **self._contained(phrases),
            **tagged,
            **self._common(phrases, self._words),
        }
        if self._needs_more(columns, "present"):
            columns |= self._placed(phrases, seen) | self._related(phrases)
        spelled = [self.view.spelling(candidate) for candidate in seen]
        return self._candidates(phrases, spelled, columns, "present")

    def absent(self) -> CandidateFeatures:
        """Phrases that the generator predicted and probable labels, if the text lacks them."""
        texts = {
            phrase: generated.text
            for phrase, generated in self.written.items()
            if not self.view.has(phrase)
        }
        for label in self.topic.best(2 * MOST_ABSENT):
            phrase = self.topics.label_stems[label]
            if not self.view.has(phrase):
                texts.setdefault(phrase, self.topics.labels[label])
            if len(texts) >= MOST_ABSENT:
                break
        return self.as_absent(texts)

    def as_absent(self, texts: Mapping[Stems, str]) -> CandidateFeatures:
        """Some phrases with their spellings, described as if the text lacked them."""
        phrases = list(texts)
        words = self._look_up({stem: None for phrase in phrases for stem in phrase})
        columns = {**self._document(len(phrases)), **self._common(phrases, words)}
        if self._needs_more(columns, "absent"):
            columns |= self._related(phrases) | self._meanings.nearest(phrases)
        return self._candidates(phrases, list(texts.values()), columns, "absent")

    def _needs_more(self, columns: Mapping[str, Column], part: Part) -> bool:
        """Whether trees read features that are not among the cheap ones."""
        if self._start is None or not self.at_home:
            return True
        return not columns.keys() >= self._start.read(part)

    def _candidates(
        self, phrases: list[Stems], texts: list[str], columns: dict[str, Column], part: Part
    ) -> CandidateFeatures:
        start = self._start
        genres = self.genres[: start.books] if start is not None and self.at_home else self.genres
        genre = int(np.argmax(genres))
        known = CandidateFeatures(phrases, texts, columns, genre)
        if start is None:
            return known
        if self.at_home:
            return replace(known, log_odds=start.home_log_odds(part, known))
        log_odds = start.trees[part](known.matrix(start.names[part]))
        return replace(known, columns={**columns, "start": log_odds})

    def _document(self, size: int) -> dict[str, Column]:
        view = self.view
        best = self.topic.log_probs.max(initial=NOT_A_LABEL)
        values = {
            "document.words": len(view.words),
            "document.candidates": len(view.candidates),
            "document.written": len(self.written),
            "document.best_topic": best,
            "document.title": view.title,
        }
        values |= {f"document.book{i}": value for i, value in enumerate(self._rarity())}
        values |= {f"document.genre{i}": value for i, value in enumerate(self.genres)}
        return {name: np.full(size, value, np.float32) for name, value in values.items()}

    def _rarity(self) -> list[float]:
        """How much more frequent words are in each book than in all: in those of the start only."""
        books = len(self.book.sizes) if self._start is None else self._start.books
        sizes = np.array(self.book.sizes[:books], dtype=np.float32)
        counts = self._words.counts[:, WORD_DOCUMENTS::WORD_COLUMNS][:, :books]
        rates = (counts + 1) / (sizes + 1)
        if not len(rates):
            return [0.0] * len(sizes)
        shares = np.log(rates / rates.mean(axis=1, keepdims=True))
        return [float(share) for share in shares.mean(axis=0)]

    def _look_up(self, stems: Iterable[str]) -> Words:
        """What is known about distinct words."""
        number = {stem: row for row, stem in enumerate(stems)}
        tally, titled = self.view.tally, self.view.titled
        found = keys((stem,) for stem in number)
        here = (
            np.array([tally[stem] for stem in number], np.float32),
            np.array([stem in titled for stem in number], np.float32),
            self._similarities(found),
        )
        return Words(number, self.book.words.look_up(found), np.stack(here, axis=1))

    def _counted(self, seen: Sequence[Candidate], texts: Sequence[str]) -> dict[str, Column]:
        view = self.view
        numbers = np.array(
            [(found.count, found.places[0], found.places[-1]) for found in seen], dtype=np.float32
        )
        count, first, last = numbers.reshape(-1, 3).T
        size = max(1, len(view.words))
        return {
            "count": count,
            "count.share": count / size,
            "first": first,
            "first.share": first / size,
            "spread": (last - first) / size,
            "in_title": (first < view.title).astype(np.float32),
            "after_title": (first - view.title) / size,
            "letters": np.array([len(text) for text in texts], np.float32),
        }

    def _contained(self, phrases: Sequence[Stems]) -> dict[str, Column]:
        """The share of a phrase's occurrences within a longer candidate, and that of its parts."""
        count = {phrase: found.count for phrase, found in self.view.candidates.items()}
        longer: dict[Stems, int] = {}
        for phrase, often in count.items():
            if len(phrase) > 1:
                for part in (phrase[1:], phrase[:-1]):
                    longer[part] = max(longer.get(part, 0), often)
        within = np.array([longer.get(phrase, 0) for phrase in phrases], np.float32)
        counts = np.array([count[phrase] for phrase in phrases], np.float32)
        parts = np.array(
            [max(count.get(phrase[1:], 0), count.get(phrase[:-1], 0)) for phrase in phrases],
            np.float32,
        )
        return {"within": within / counts.clip(min=1), "parts": counts / parts.clip(min=1)}

    def _placed(self, phrases: Sequence[Stems], seen: Sequence[Candidate]) -> dict[str, Column]:
        """Where a phrase and its words are in the text, and what is around them."""
        over = _Over(phrases, self._structure.number)
        central, before, after = self._structure.words.T
        ranks = over(central, "central")
        return {
            **self._structure.columns(Occurrences.of(seen)),
            **ranks,
            "central.sum": ranks["central.mean"] * np.array([len(phrase) for phrase in phrases]),
            "varied.before": before[over.first],
            "varied.after": after[over.last],
        }

    def _related(self, phrases: Sequence[Stems]) -> dict[str, Column]:
        """How close phrases are to the document in meaning, and whether it has capitals at all."""
        cased = np.full(len(phrases), self._structure.cased, np.float32)
        return {"document.cased": cased, **self._meanings.columns(phrases)}

    def _tagged(self, phrases: Sequence[Stems], at: Occurrences) -> dict[str, Column]:
        """The span tagger's log-odds at the places where a phrase occurs."""
        odds = self.span_tagger(self.view)[at.starts, at.ends - at.starts - 1]
        most = np.maximum.reduceat(odds, at.begin) if len(phrases) else odds
        better = np.empty(len(phrases), np.float32)
        better[np.argsort(-most, kind="stable")] = np.arange(len(phrases))
        longer, shorter = _overlapping(phrases, most)
        return {
            "tagged.most": most,
            "tagged.mean": at.mean(odds),
            "tagged.first": odds[at.begin],
            "tagged.rank": np.log1p(better),
            "tagged.behind": most - most.max(initial=NOT_A_LABEL),
            "tagged.all": np.full(len(phrases), np.log1p(np.exp(most)).sum()),
            "tagged.longer": most - longer,
            "tagged.shorter": most - shorter,
        }

    def _common(self, phrases: Sequence[Stems], words: Words) -> dict[str, Column]:
        """Features that present and absent phrases share."""
        found = keys(phrases)
        return {
            "length": np.array([len(phrase) for phrase in phrases], np.float32),
            **self._known(found),
            **self._by_words(phrases, words),
            **self._topical(found),
            **self._generated(phrases),
        }

    def _known(self, phrases: Keys) -> dict[str, Column]:
        rows = self.book.phrases.look_up(phrases)
        columns: dict[str, Column] = {}
        for book in range(len(self.book.sizes)):
            documents = rows[:, PHRASE_COLUMNS * book + DOCUMENTS]
            keyphrases = rows[:, PHRASE_COLUMNS * book + KEYPHRASES]
            columns[f"documents{book}"] = np.log1p(documents)
            columns[f"keyphrases{book}"] = np.log1p(keyphrases)
            columns[f"keyphraseness{book}"] = (keyphrases + 0.05) / (documents + 1)
        columns["rate"] = self._rates(rows[:, DOCUMENTS::PHRASE_COLUMNS])
        columns["keyphrase.rate"] = self._rates(rows[:, KEYPHRASES::PHRASE_COLUMNS])
        return columns

    def _rates(self, counts: Matrix) -> Column:
        """Counts in each book [C, books] -> log of the mean share of documents [C]."""
        shares = counts / np.array(self.book.sizes, np.float32)
        return np.asarray(np.log(shares.mean(axis=1) + RAREST))

    def _by_words(self, phrases: Sequence[Stems], words: Words) -> dict[str, Column]:
        """The least, the greatest and the mean value of what is known about a phrase's words."""
        over = _Over(phrases, words.number)
        columns: dict[str, Column] = {}
        for values, name in zip(words.here.T, ("count", "title", "topic"), strict=True):
            columns |= over(values, f"word.{name}")
        columns |= over(self._rates(words.counts[:, WORD_DOCUMENTS::WORD_COLUMNS]), "word.rate")
        for book in range(len(self.book.sizes)):
            counts = words.counts[:, WORD_COLUMNS * book : WORD_COLUMNS * (book + 1)]
            documents = counts[:, WORD_DOCUMENTS] + 5
            shares = (counts + 0.5) / documents[:, None]
            columns |= over(np.log(documents), f"word.documents{book}")
            columns |= over(shares[:, WORD_KEYPHRASES], f"word.keyphrase{book}")
            columns[f"word.first{book}"] = shares[over.first, WORD_FIRST]
            columns[f"word.last{book}"] = shares[over.last, WORD_LAST]
        return columns

    def _similarities(self, stems: Keys) -> Column:
        """The cosine between each word's vector and the document's."""
        places = self.topics.terms.places(stems)
        known = places >= 0
        vectors = np.zeros((len(stems), self.topics.vectors.shape[1]), np.float32)
        vectors[known] = self.topics.vectors[places[known]]
        norms = np.linalg.norm(vectors, axis=1).clip(min=1e-6)
        return np.asarray(vectors @ self.topic.vector / (norms * self._norm), np.float32)

    def _topical(self, phrases: Keys) -> dict[str, Column]:
        labels = self.topics.label_places(phrases)
        known = labels >= 0
        log_probs = np.full(len(phrases), NOT_A_LABEL, np.float32)
        rank = np.full(len(phrases), len(self.topics.labels))
        log_probs[known] = self.topic.log_probs[labels[known]]
        rank[known] = self.topic.ranks(log_probs[known])
        return {"topic": log_probs, "topic.rank": np.log1p(rank)}

    def _generated(self, phrases: Sequence[Stems]) -> dict[str, Column]:
        missing = Generated("", -1, NOT_A_LABEL, NOT_A_LABEL)
        found = [self.written.get(phrase, missing) for phrase in phrases]
        return {
            "written.rank": np.array([phrase.rank for phrase in found], np.float32),
            "written.mean": np.array([phrase.mean_log_prob for phrase in found], np.float32),
            "written.least": np.array([phrase.least_log_prob for phrase in found], np.float32),
        }


class _Over:
    """Values of words -> values of the phrases that consist of them."""

    def __init__(self, phrases: Sequence[Stems], number: Mapping[str, int]):
        every = np.array([number[stem] for phrase in phrases for stem in phrase], np.int64)
        self._lengths = np.array([len(phrase) for phrase in phrases], np.int64)
        begin = self._lengths.cumsum() - self._lengths
        at = np.arange(self._lengths.max(initial=1))
        # Shorter phrases repeat their last word, which changes neither minimum nor maximum.
        self._rows = every[begin[:, None] + np.minimum(at, self._lengths[:, None] - 1)]
        self._real = at < self._lengths[:, None]
        self.first, self.last = every[begin], every[begin + self._lengths - 1]

    def __call__(self, values: Column, name: str) -> dict[str, Column]:
        each = values[self._rows]
        return {
            f"{name}.least": each.min(axis=1),
            f"{name}.most": each.max(axis=1),
            f"{name}.mean": (each * self._real).sum(axis=1) / self._lengths,
        }


def _overlapping(phrases: Sequence[Stems], most: Column) -> tuple[Column, Column]:
    """The best log-odds of the phrases one word longer and one word shorter than each phrase."""
    odds = dict(zip(phrases, most.tolist(), strict=True))
    longer: dict[Stems, float] = {}
    shorter = np.full(len(phrases), NOT_A_LABEL, np.float32)
    for number, phrase in enumerate(phrases):
        if len(phrase) > 1:
            parts = phrase[1:], phrase[:-1]
            for part in parts:
                longer[part] = max(longer.get(part, NOT_A_LABEL), odds[phrase])
            shorter[number] = max(odds.get(part, NOT_A_LABEL) for part in parts)
    above = np.array([longer.get(phrase, NOT_A_LABEL) for phrase in phrases], np.float32)
    return above, shorter
