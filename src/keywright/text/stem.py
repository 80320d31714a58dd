"""Porter stems, one look-up a word.

Every protocol of the field stems with nltk's `PorterStemmer` in its default mode, one lower-cased
word at a time, stripped of white space that splitting at blanks leaves (tabs, no-break spaces). The
stemmer costs tens of microseconds a word and texts repeat their words, so the stems of word types
are kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

# A corpus of 200,000 abstracts has some 700,000 word types; beyond this many the table starts
# afresh, so that endless streams of junk tokens cannot fill the memory.
MOST_WORD_TYPES = 2_000_000
# The stemmer looks back letter by letter, at a depth that Python ends at a thousand: what is longer
# than this is no word, and stays as it is.
LONGEST_WORD = 500


class StemTable(dict[str, str]):
    """word -> Porter stem of its lower-case form; filled on first use."""

    _porter: Any = None

    def __missing__(self, word: str) -> str:
        if StemTable._porter is None:
            from nltk.stem.porter import PorterStemmer  # importing nltk takes most of a second

            StemTable._porter = PorterStemmer()
        if len(self) >= MOST_WORD_TYPES:
            self.clear()
        plain = word.strip()
        stem: str = plain.lower() if len(plain) > LONGEST_WORD else StemTable._porter.stem(plain)
        self[word] = stem
        return stem


TABLE = StemTable()
"""A pure memo: it can only change how fast `stem` answers."""


def stem(word: str) -> str:
    return TABLE[word]


def stems(words: Iterable[str]) -> list[str]:
    return [TABLE[word] for word in words]
