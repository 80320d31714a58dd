"""What speaks for and against a candidate, as a matrix of numbers for boosted trees.

Names and order of the columns are part of a fitted ranker: `names` are kept in its manifest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keywright.extractors._candidates import Stems
from keywright.ranking.keys import keys
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


class Judged:
    """One document, seen with what is known."""

    def __init__(self, reading: Reading, knowledge: Knowledge, written: Written):
        self.reading = reading
        self.book, self.topics = knowledge.book, knowledge.topics
        self.written = written
        self.topic: Topic = self.topics.of(reading.terms)
        self._norm = float(np.linalg.norm(self.topic.vector)) or 1.0
        self._rank_of_label = np.argsort(np.argsort(-self.topic.log_probs))
        self._domain = self._domains()

    def present(self) -> Candidates:
        found = self.reading.candidates
        phrases, seen = list(found), list(found.values())
        columns = {
            **self._document(len(phrases)),
            **self._counted(seen),
            **self._contained(phrases),
            **self._common(phrases),
        }
        return _candidates(phrases, [" ".join(one.words) for one in seen], columns)

    def absent(self) -> Candidates:
        texts = {
            phrase: one.text for phrase, one in self.written.items() if not self.reading.has(phrase)
        }
        for label in np.argsort(-self.topic.log_probs)[: 2 * MOST_ABSENT]:
            phrase = self.topics.label_stems[label]
            if not self.reading.has(phrase):
                texts.setdefault(phrase, self.topics.labels[label])
            if len(texts) >= MOST_ABSENT:
                break
        columns = {**self._document(len(texts)), **self._common(list(texts))}
        return _candidates(list(texts), list(texts.values()), columns)

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
        rows = self.book.words.look_up(keys((stem,) for stem in self.reading.tally))
        sizes = np.array(self.book.sizes, dtype=np.float32)
        rates = (rows[:, WORD_DOCUMENTS::WORD_COLUMNS] + 1) / (sizes + 1)
        shares = np.log(rates / rates.mean(axis=1, keepdims=True))
        return [float(share) for share in shares.mean(axis=0)] if len(rows) else [0.0] * len(sizes)

    def _counted(self, seen: Sequence[Candidate]) -> dict[str, Column]:
        reading = self.reading
        numbers = np.array(
            [(one.count, one.first, one.last, len(" ".join(one.words))) for one in seen],
            dtype=np.float32,
        ).reshape(-1, 4)
        count, first, last, letters = numbers.T
        size = max(1, len(reading.words))
        return {
            "count": count,
            "count.share": count / size,
            "first": first,
            "first.share": first / size,
            "spread": (last - first) / size,
            "in_title": (first < reading.title).astype(np.float32),
            "after_title": (first - reading.title) / size,
            "letters": letters,
        }

    def _contained(self, phrases: Sequence[Stems]) -> dict[str, Column]:
        """How much of a phrase's occurrences are within one longer candidate, and of its parts."""
        found = self.reading.candidates
        longer: dict[Stems, int] = {}
        parts = np.zeros(len(phrases), np.float32)
        for place, phrase in enumerate(phrases):
            if len(phrase) > 1:
                count = found[phrase].count
                for part in (phrase[1:], phrase[:-1]):
                    longer[part] = max(longer.get(part, 0), count)
                    if part in found:
                        parts[place] = max(parts[place], found[part].count)
        within = np.array([longer.get(phrase, 0) for phrase in phrases], np.float32)
        counts = np.array([found[phrase].count for phrase in phrases], np.float32)
        return {"within": within / counts.clip(min=1), "parts": counts / parts.clip(min=1)}

    def _common(self, phrases: Sequence[Stems]) -> dict[str, Column]:
        """Features that present and absent phrases have alike."""
        return {
            "length": np.array([len(phrase) for phrase in phrases], np.float32),
            **self._known(phrases),
            **self._by_words(phrases),
            **self._topical(phrases),
            **self._generated(phrases),
        }

    def _known(self, phrases: Sequence[Stems]) -> dict[str, Column]:
        rows = self.book.phrases.look_up(keys(phrases))
        columns: dict[str, Column] = {}
        for book in range(len(self.book.sizes)):
            documents = rows[:, PHRASE_COLUMNS * book + DOCUMENTS]
            keyphrases = rows[:, PHRASE_COLUMNS * book + KEYPHRASES]
            columns[f"documents{book}"] = np.log1p(documents)
            columns[f"keyphrases{book}"] = np.log1p(keyphrases)
            columns[f"keyphraseness{book}"] = (keyphrases + 0.05) / (documents + 1)
        return columns

    def _by_words(self, phrases: Sequence[Stems]) -> dict[str, Column]:
        """What is known of a phrase's words: of the least, the most, and the mean of them."""
        vocabulary = sorted({stem for phrase in phrases for stem in phrase})
        number = {stem: i for i, stem in enumerate(vocabulary)}
        longest = max((len(phrase) for phrase in phrases), default=1)
        place = np.zeros((len(phrases), longest), np.int64)
        for i, phrase in enumerate(phrases):
            # The last word stands for those a shorter phrase lacks: least and most do not change.
            place[i] = [number[stem] for stem in phrase] + [number[phrase[-1]]] * (
                longest - len(phrase)
            )
        real = np.arange(longest) < np.array([len(p) for p in phrases], np.int64).reshape(-1, 1)
        lengths = real.sum(axis=1).clip(min=1)

        def over(values: Column, name: str) -> dict[str, Column]:
            each = values[place] if len(vocabulary) else np.zeros(place.shape, np.float32)
            return {
                f"{name}.least": each.min(axis=1),
                f"{name}.most": each.max(axis=1),
                f"{name}.mean": (each * real).sum(axis=1) / lengths,
            }

        tally, titled = self.reading.tally, self.reading.titled
        stem_keys = keys((stem,) for stem in vocabulary)
        rows = self.book.words.look_up(stem_keys)
        columns = {
            **over(np.array([tally[stem] for stem in vocabulary], np.float32), "word.count"),
            **over(np.array([stem in titled for stem in vocabulary], np.float32), "word.title"),
            **over(self._similarities(stem_keys), "word.topic"),
        }
        first, last = place[:, 0], place[np.arange(len(phrases)), lengths - 1]
        for book in range(len(self.book.sizes)):
            mine = rows[:, WORD_COLUMNS * book : WORD_COLUMNS * (book + 1)]
            documents = mine[:, WORD_DOCUMENTS] + 5
            columns |= over(np.log(documents), f"word.documents{book}")
            columns |= over((mine[:, WORD_KEYPHRASES] + 0.5) / documents, f"word.keyphrase{book}")
            if len(vocabulary):
                columns[f"word.first{book}"] = ((mine[:, WORD_FIRST] + 0.5) / documents)[first]
                columns[f"word.last{book}"] = ((mine[:, WORD_LAST] + 0.5) / documents)[last]
            else:
                columns |= {f"word.first{book}": np.empty(0), f"word.last{book}": np.empty(0)}
        return columns

    def _similarities(self, stem_keys: NDArray[np.uint64]) -> Column:
        """The cosine of each word's vector and the document's."""
        topics = self.topics
        places = topics.terms.places(stem_keys)
        vectors = topics.vectors[places].astype(np.float32) * (places >= 0)[:, None]
        norms = np.linalg.norm(vectors, axis=1).clip(min=1e-6)
        return np.asarray(vectors @ self.topic.vector / (norms * self._norm), np.float32)

    def _topical(self, phrases: Sequence[Stems]) -> dict[str, Column]:
        labels = self.topics.label_places(keys(phrases))
        known = labels >= 0
        log_probs = np.where(known, self.topic.log_probs[labels], NOT_A_LABEL)
        rank = np.where(known, self._rank_of_label[labels], len(self.topics.labels))
        return {"topic": log_probs, "topic.rank": np.log1p(rank)}

    def _generated(self, phrases: Sequence[Stems]) -> dict[str, Column]:
        missing = Generated("", -1, NOT_A_LABEL, NOT_A_LABEL)
        ones = [self.written.get(phrase, missing) for phrase in phrases]
        return {
            "written.rank": np.array([one.rank for one in ones], np.float32),
            "written.mean": np.array([one.mean_log_prob for one in ones], np.float32),
            "written.least": np.array([one.least_log_prob for one in ones], np.float32),
        }


def _candidates(
    phrases: list[Stems], texts: list[str], columns: Mapping[str, Column]
) -> Candidates:
    matrix = np.stack([columns[name] for name in columns], axis=1).astype(np.float32)
    return Candidates(phrases, texts, matrix)
