"""Porter stems, one look-up per word.

Every protocol of the field stems one lower-case word at a time, without the white space that
splitting at blanks leaves (tabs, no-break spaces). Texts repeat their words, so the stems of word
types are kept.
"""

from __future__ import annotations

from collections.abc import Iterable

from keywright.text import porter

# A corpus of 200,000 abstracts has some 700,000 word types. Beyond this number the table starts
# again, so that endless streams of junk tokens cannot fill the memory.
MOST_WORD_TYPES = 2_000_000
# Longer tokens are not words and keep their form.
LONGEST_WORD = 500


class StemTable(dict[str, str]):
    """word -> Porter stem of its lower-case form; filled on first use."""

    def __missing__(self, word: str) -> str:
        if len(self) >= MOST_WORD_TYPES:
            self.clear()
        plain = word.strip()
        found = plain.lower() if len(plain) > LONGEST_WORD else porter.stem(plain)
        self[word] = found
        return found


TABLE = StemTable()
"""A pure memo: it can only change how fast `stem` answers."""


def stem(word: str) -> str:
    return TABLE[word]


def stems(words: Iterable[str]) -> list[str]:
    return [TABLE[word] for word in words]
