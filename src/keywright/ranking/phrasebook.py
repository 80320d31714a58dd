"""Counts over training corpora: how often phrases and words occur, and how often as keyphrases.

Frank et al. (1999) call the latter keyphrase frequency, Medelyan (2009) keyphraseness. Each corpus
(a book) has columns of its own: a keyphrase of computer science may be an ordinary word in
medicine, and a document's words show which of the books it resembles.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from keywright.ranking.candidates import RankerView, is_mark
from keywright.ranking.keys import Table, Tally, keys, word_keys
from keywright.text.candidates import STOPWORDS
from keywright.text.stem import stems
from keywright.text.tokenise import DIGIT, words
from keywright.types import Document

# Phrases that were never keyphrases are kept only if they occur in this many documents.
FEWEST_CHANCES = 40
FEWEST_WORDS = 3  # the least sum of a word's counts

SMOOTHING = 100_000.0  # words that the unigram model of a book is assumed to have seen elsewhere
NEVER_SEEN = 1e-8  # the share of words that no book has
FEWEST_TO_JUDGE = 10  # distinct words of a document, to say whether it is familiar

# Columns of one book.
DOCUMENTS, KEYPHRASES = range(2)  # of phrases: documents with it, documents it is a keyphrase of
# Of words: documents with it, with it in a keyphrase, as its first word, as its last word.
WORD_DOCUMENTS, WORD_KEYPHRASES, WORD_FIRST, WORD_LAST = range(4)
PHRASE_COLUMNS, WORD_COLUMNS = 2, 4


@dataclass(frozen=True)
class Phrasebook:
    phrases: Table  # [N, PHRASE_COLUMNS * books]
    words: Table  # [N, WORD_COLUMNS * books]
    sizes: tuple[int, ...]  # documents of each book

    @cached_property
    def _totals(self) -> NDArray[np.float64]:
        """The sum over words of the documents with the word, at least 1 [books]."""
        counts = self.words.rows[:, WORD_DOCUMENTS::WORD_COLUMNS]
        return np.asarray(np.maximum(counts.sum(axis=0, dtype=np.float64), 1))

    def genres(self, documents: NDArray[np.float32]) -> NDArray[np.float64]:
        """How probable words are in each book, compared with all books [books].

        `documents` [W, books] counts those with each of the words. The result is the mean log-ratio
        of a unigram model of each book, whose rare words are smoothed.
        """
        if not len(documents):
            return np.zeros(len(self.sizes))
        totals = self._totals
        overall = (documents / totals).mean(axis=1, keepdims=True) + NEVER_SEEN
        smoothed = (documents + SMOOTHING * overall) / (totals + SMOOTHING)
        return np.asarray(np.log(smoothed / overall).mean(axis=0))

    def familiarity(self, view: RankerView) -> float:
        """How frequent the words of a document are in the book that has them most: a mean log.

        Words that say nothing about a genre are left out; a document without others is familiar.
        """
        content = [
            stem
            for stem in view.tally
            if not is_mark(stem) and stem not in STOPWORDS and stem != DIGIT
        ]
        if len(content) < FEWEST_TO_JUDGE:
            return 0.0
        rows = self.words.look_up(word_keys(content))
        rates = rows[:, WORD_DOCUMENTS::WORD_COLUMNS] / self._totals
        return float(np.log(rates.max(axis=1) + NEVER_SEEN).mean())


def gold_stems(document: Document) -> set[tuple[str, ...]]:
    """The distinct keyphrases of a document."""
    keyphrases = document.keyphrases or ()
    phrases = (tuple(stems(words(text, document.tokenised))) for text in keyphrases)
    return {phrase for phrase in phrases if phrase}


class Writer:
    """Builds a phrasebook, document by document."""

    def __init__(self, books: int):
        self._phrases, self._words = Tally(PHRASE_COLUMNS * books), Tally(WORD_COLUMNS * books)
        self._sizes = [0] * books

    def add(self, book: int, view: RankerView, gold: set[tuple[str, ...]]) -> None:
        self._sizes[book] += 1
        phrases = {DOCUMENTS: keys(view.candidates), KEYPHRASES: keys(gold)}
        for column, seen in phrases.items():
            self._phrases.add(PHRASE_COLUMNS * book + column, seen)
        words = {
            WORD_DOCUMENTS: set(view.tally),
            WORD_KEYPHRASES: {stem for phrase in gold for stem in phrase},
            WORD_FIRST: [phrase[0] for phrase in gold],
            WORD_LAST: [phrase[-1] for phrase in gold],
        }
        for column, stems_seen in words.items():
            self._words.add(WORD_COLUMNS * book + column, word_keys(stems_seen))

    def book(self) -> Phrasebook:
        return Phrasebook(
            _worth(self._phrases.table()), _known(self._words.table()), tuple(self._sizes)
        )


def joined(first: Phrasebook, second: Phrasebook) -> Phrasebook:
    """The books of both; a phrase that one of them left out counts as never seen there."""
    return Phrasebook(
        _side_by_side(first.phrases, second.phrases),
        _side_by_side(first.words, second.words),
        (*first.sizes, *second.sizes),
    )


def _side_by_side(left: Table, right: Table) -> Table:
    every = np.union1d(left.keys, right.keys)
    rows = np.concatenate([left.look_up(every), right.look_up(every)], axis=1)
    return _small(Table(every, rows))


def _worth(table: Table) -> Table:
    as_keyphrase = table.rows[:, KEYPHRASES::PHRASE_COLUMNS].sum(axis=1) > 0
    chances = table.rows[:, DOCUMENTS::PHRASE_COLUMNS].sum(axis=1) >= FEWEST_CHANCES
    return _small(table.where(as_keyphrase | chances))


def _known(table: Table) -> Table:
    return _small(table.where(table.rows.sum(axis=1) >= FEWEST_WORDS))


def _small(table: Table) -> Table:
    return Table(table.keys, table.rows.clip(max=np.iinfo(np.uint16).max).astype(np.uint16))
