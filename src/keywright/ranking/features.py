"""What speaks for and against a candidate, as a matrix of numbers for boosted trees.

The order of the columns is part of a fitted ranker, whose trees know them by number: a column added
or moved is a new format of rankers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keywright.extractors._candidates import Stems
from keywright.ranking.keys import Keys, keys
from keywright.ranking.marker import LogOdds
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
from keywright.ranking.reading import Candidate, Reading
from keywright.ranking.topics import Topic, Topics

Matrix = NDArray[np.float32]
Column = NDArray[np.floating[Any]]

NOT_A_LABEL = -20.0  # below any log-probability that matters
MOST_ABSENT = 40  # labels that are looked at


@dataclass(frozen=True)
class Generated:
    """A phrase that a generator wrote."""

    text: str
    rank: int
    mean_log_prob: float
    least_log_prob: float


Written = Mapping[Stems, Generated]
NOTHING_WRITTEN: Written = {}


@dataclass(frozen=True)
class Candidates:
    """Phrases of one document with their features."""

    phrases: list[Stems]
    texts: list[str]
    features: Matrix  # [C, F]


@dataclass(frozen=True)
class Knowledge:
    """All that features are computed from besides the document."""

    book: Phrasebook
    topics: Topics
    marker: Callable[[Reading], LogOdds]


@dataclass(frozen=True)
class Words:
    """What is known of some words: a row for each."""

    number: Mapping[str, int]  # stem -> row
    counts: Matrix  # [W, WORD_COLUMNS * books]
    here: Matrix  # [W, 3] how often in the document, whether in its title, how near its topic


class Judged:
    """One document, seen with what is known."""

    def __init__(self, reading: Reading, knowledge: Knowledge, written: Written):
        self.reading = reading
        self.book, self.topics, self.marker = knowledge.book, knowledge.topics, knowledge.marker
        self.written = written
        self.topic: Topic = self.topics.of(reading.terms)
        self._norm = float(np.linalg.norm(self.topic.vector)) or 1.0
        self._words = self._look_up(reading.tally)
        self._domain = self._domains()

    def present(self, most: int | None = None) -> Candidates:
        """Runs of words: all, or so many that the marker thinks best of."""
        phrases, seen = list(self.reading.candidates), list(self.reading.candidates.values())
        marked = self._marked(seen)
        if most is not None and most < len(phrases):
            chosen = np.sort(np.argsort(-marked["marked.most"], kind="stable")[:most])
            marked = {name: column[chosen] for name, column in marked.items()}
            phrases, seen = [phrases[at] for at in chosen], [seen[at] for at in chosen]
        texts = [" ".join(one.words) for one in seen]
        columns = {
            **self._document(len(phrases)),
            **self._counted(seen, texts),
            **self._contained(phrases),
            **marked,
            **self._common(phrases, self._words),
        }
        return _candidates(phrases, texts, columns)

    def absent(self) -> Candidates:
        texts = {
            phrase: one.text for phrase, one in self.written.items() if not self.reading.has(phrase)
        }
        for label in self.topic.best(2 * MOST_ABSENT):
            phrase = self.topics.label_stems[label]
            if not self.reading.has(phrase):
                texts.setdefault(phrase, self.topics.labels[label])
            if len(texts) >= MOST_ABSENT:
                break
        phrases = list(texts)
        words = self._look_up({stem: None for phrase in phrases for stem in phrase})
        columns = {**self._document(len(phrases)), **self._common(phrases, words)}
        return _candidates(phrases, list(texts.values()), columns)

    def _document(self, size: int) -> dict[str, Column]:
        reading = self.reading
        best = self.topic.log_probs.max(initial=NOT_A_LABEL)
        values = {
            "document.words": len(reading.words),
            "document.candidates": len(reading.candidates),
            "document.written": len(self.written),
            "document.best_topic": best,
            **{f"document.book{i}": value for i, value in enumerate(self._domain)},
        }
        return {name: np.full(size, value, np.float32) for name, value in values.items()}

    def _domains(self) -> list[float]:
        """How much more a document's words belong to each book than to all."""
        sizes = np.array(self.book.sizes, dtype=np.float32)
        rates = (self._words.counts[:, WORD_DOCUMENTS::WORD_COLUMNS] + 1) / (sizes + 1)
        if not len(rates):
            return [0.0] * len(sizes)
        shares = np.log(rates / rates.mean(axis=1, keepdims=True))
        return [float(share) for share in shares.mean(axis=0)]

    def _look_up(self, stems: Iterable[str]) -> Words:
        """What is known of distinct words."""
        number = {stem: row for row, stem in enumerate(stems)}
        tally, titled = self.reading.tally, self.reading.titled
        found = keys((stem,) for stem in number)
        here = (
            np.array([tally[stem] for stem in number], np.float32),
            np.array([stem in titled for stem in number], np.float32),
            self._similarities(found),
        )
        return Words(number, self.book.words.look_up(found), np.stack(here, axis=1))

    def _counted(self, seen: Sequence[Candidate], texts: Sequence[str]) -> dict[str, Column]:
        reading = self.reading
        numbers = np.array(
            [(one.count, one.places[0], one.places[-1]) for one in seen], dtype=np.float32
        )
        count, first, last = numbers.reshape(-1, 3).T
        size = max(1, len(reading.words))
        return {
            "count": count,
            "count.share": count / size,
            "first": first,
            "first.share": first / size,
            "spread": (last - first) / size,
            "in_title": (first < reading.title).astype(np.float32),
            "after_title": (first - reading.title) / size,
            "letters": np.array([len(text) for text in texts], np.float32),
        }

    def _contained(self, phrases: Sequence[Stems]) -> dict[str, Column]:
        """How much of a phrase's occurrences are within one longer candidate, and of its parts."""
        count = {phrase: len(one.places) for phrase, one in self.reading.candidates.items()}
        longer: dict[Stems, int] = {}
        for phrase, often in count.items():
            if len(phrase) > 1:
                for part in (phrase[1:], phrase[:-1]):
                    longer[part] = max(longer.get(part, 0), often)
        within = np.array([longer.get(phrase, 0) for phrase in phrases], np.float32)
        counts = np.array([count[phrase] for phrase in phrases], np.float32)
        parts = np.array(
            [max(count.get(one[1:], 0), count.get(one[:-1], 0)) for one in phrases], np.float32
        )
        return {"within": within / counts.clip(min=1), "parts": counts / parts.clip(min=1)}

    def _marked(self, seen: Sequence[Candidate]) -> dict[str, Column]:
        """What the marker thinks of the places where a phrase stands."""
        counts = np.array([one.count for one in seen], np.int64)
        starts = np.array([place for one in seen for place in one.places], np.int64)
        lengths = np.array([len(one.words) for one in seen], np.int64)
        odds = self.marker(self.reading)[starts, np.repeat(lengths, counts) - 1]
        begin = counts.cumsum() - counts
        most = np.maximum.reduceat(odds, begin) if len(seen) else odds
        mean = np.add.reduceat(odds, begin) / counts if len(seen) else odds
        better = np.empty(len(seen), np.float32)
        better[np.argsort(-most, kind="stable")] = np.arange(len(seen))
        return {
            "marked.most": most,
            "marked.mean": mean,
            "marked.first": odds[begin],
            "marked.rank": np.log1p(better),
            "marked.behind": most - most.max(initial=NOT_A_LABEL),
        }

    def _common(self, phrases: Sequence[Stems], words: Words) -> dict[str, Column]:
        """Features that present and absent phrases have alike."""
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
        return columns

    def _by_words(self, phrases: Sequence[Stems], words: Words) -> dict[str, Column]:
        """What is known of a phrase's words: of the least, the most, and the mean of them."""
        over = _Over(phrases, words.number)
        columns: dict[str, Column] = {}
        for values, name in zip(words.here.T, ("count", "title", "topic"), strict=True):
            columns |= over(values, f"word.{name}")
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
        """The cosine of each word's vector and the document's."""
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
        ones = [self.written.get(phrase, missing) for phrase in phrases]
        return {
            "written.rank": np.array([one.rank for one in ones], np.float32),
            "written.mean": np.array([one.mean_log_prob for one in ones], np.float32),
            "written.least": np.array([one.least_log_prob for one in ones], np.float32),
        }


class _Over:
    """Numbers of words -> numbers of the phrases made of them."""

    def __init__(self, phrases: Sequence[Stems], number: Mapping[str, int]):
        every = np.array([number[stem] for phrase in phrases for stem in phrase], np.int64)
        self._lengths = np.array([len(phrase) for phrase in phrases], np.int64)
        begin = self._lengths.cumsum() - self._lengths
        at = np.arange(self._lengths.max(initial=1))
        # The last word stands for those a shorter phrase lacks: least and most do not change.
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


def _candidates(
    phrases: list[Stems], texts: list[str], columns: Mapping[str, Column]
) -> Candidates:
    matrix = np.stack(list(columns.values()), axis=1).astype(np.float32)
    return Candidates(phrases, texts, matrix)
