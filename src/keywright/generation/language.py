"""Does a text look English? A quick test of its letters and its most frequent words.

This is not a language identifier: it only has to notice texts that a model trained on English
cannot read.
"""

from __future__ import annotations

import re
import unicodedata

from keywright.text.languages import ENGLISH, other_language, stopword_shares
from keywright.text.languages import LEAST_SHARE as LEAST_SHARE_OF_STOPWORDS

# Words that make up a fifth of English prose and hardly occur in other languages. "in", "for" and
# "was" are missing because they are also words of Dutch, Danish or German.
_COMMON = frozenset(
    ["the", "of", "and", "to", "that", "with", "this", "from", "are", "which", "has", "have",
     "been", "can", "these", "not", "our", "it", "its", "their", "they", "than", "using", "used",
     "between", "would", "there", "what", "how", "will", "you", "my", "if", "when", "but"]
)  # fmt: skip
_WORD = re.compile(r"[^\W\d_]+")
# A shorter text, such as a title or a list of terms, may contain none of these.
FEWEST_WORDS = 25
LEAST_SHARE = 0.05
FEWEST_LETTERS = 20
# The beginning is enough to decide, even for a book.
_LOOKED_AT = 20_000


def looks_english(text: str) -> bool:
    """False if most letters are not Latin, or if common English words are rare in a long text."""
    words = _WORD.findall(text[:_LOOKED_AT])
    letters = "".join(words)
    if len(letters) >= FEWEST_LETTERS and _latin(letters) < 0.5:
        return False
    if len(words) < FEWEST_WORDS:
        return True
    return sum(word.lower() in _COMMON for word in words) >= LEAST_SHARE * len(words)


def language_of(text: str) -> str | None:
    """ "en" for a text that may be English, else the code of its language, None if unknown."""
    shares = stopword_shares(text)
    known = other_language(text, shares)
    if known is not None:
        return known
    # A text of formulas has few of the most frequent English words, but others.
    english = shares.get(ENGLISH, 0.0) >= LEAST_SHARE_OF_STOPWORDS
    return ENGLISH if english or looks_english(text) else None


def _latin(letters: str) -> float:
    """The share of letters that are Latin."""
    counted = [char.isascii() or unicodedata.name(char, "").startswith("LATIN") for char in letters]
    return sum(counted) / len(counted)
