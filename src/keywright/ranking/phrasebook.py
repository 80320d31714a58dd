"""What a training corpus knows of phrases and words: how often they occur, how often as keyphrases.

Frank et al. (1999) call the latter keyphrase frequency, Medelyan (2009) keyphraseness. There is a
column for each corpus (a book): what is a keyphrase in computer science may be a mere word in
medicine, and how a document's words spread over the books tells which of them to believe.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keywright.ranking.keys import Table, Tally, keys
from keywright.ranking.reading import Reading
from keywright.text.stem import stems
from keywright.text.tokenise import words
from keywright.types import Document

# Phrases that were never keyphrases are worth knowing only if they had many chances to be.
FEWEST_CHANCES = 40
FEWEST_WORDS = 3  # documents that a word must occur in

# Columns of one book.
DOCUMENTS, KEYPHRASES = range(2)  # of phrases: documents that have it, as a keyphrase
WORD_DOCUMENTS, WORD_KEYPHRASES, WORD_FIRST, WORD_LAST = range(4)  # in, first in, last in one
PHRASE_COLUMNS, WORD_COLUMNS = 2, 4


@dataclass(frozen=True)
class Phrasebook:
    phrases: Table  # [N, PHRASE_COLUMNS * books]
    words: Table  # [N, WORD_COLUMNS * books]
    sizes: tuple[int, ...]  # documents of each book


def gold_stems(document: Document) -> set[tuple[str, ...]]:
    """The distinct keyphrases of a document."""
    phrases = (tuple(stems(words(p, document.tokenised))) for p in document.keyphrases or ())
    return {phrase for phrase in phrases if phrase}


class Writer:
    """Makes a phrasebook, document by document."""

    def __init__(self, books: int):
        self._phrases, self._words = Tally(PHRASE_COLUMNS * books), Tally(WORD_COLUMNS * books)
        self._sizes = [0] * books

    def add(self, book: int, reading: Reading, gold: set[tuple[str, ...]]) -> None:
        self._sizes[book] += 1
        phrases = {DOCUMENTS: keys(reading.candidates), KEYPHRASES: keys(gold)}
        for column, seen in phrases.items():
            self._phrases.add(PHRASE_COLUMNS * book + column, seen)
        words = {
            WORD_DOCUMENTS: set(reading.tally),
            WORD_KEYPHRASES: {stem for phrase in gold for stem in phrase},
            WORD_FIRST: [phrase[0] for phrase in gold],
            WORD_LAST: [phrase[-1] for phrase in gold],
        }
        for column, stems_seen in words.items():
            self._words.add(WORD_COLUMNS * book + column, keys((stem,) for stem in stems_seen))

    def book(self) -> Phrasebook:
        return Phrasebook(
            _worth(self._phrases.table()), _known(self._words.table()), tuple(self._sizes)
        )


def _worth(table: Table) -> Table:
    as_keyphrase = table.rows[:, KEYPHRASES::PHRASE_COLUMNS].sum(axis=1) > 0
    chances = table.rows[:, DOCUMENTS::PHRASE_COLUMNS].sum(axis=1) >= FEWEST_CHANCES
    return _small(table.where(as_keyphrase | chances))


def _known(table: Table) -> Table:
    return _small(table.where(table.rows.sum(axis=1) >= FEWEST_WORDS))


def _small(table: Table) -> Table:
    return Table(table.keys, table.rows.clip(max=np.iinfo(np.uint16).max).astype(np.uint16))
