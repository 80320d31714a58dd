"""Does a text look English? A cheap look at its letters and its commonest words.

Not a language identifier: it only has to notice texts that a model trained on English cannot read.
"""

from __future__ import annotations

import re
import unicodedata

# Words that make up a fifth of English prose and hardly occur in texts of other languages: "in",
# "for" or "was" are words of Dutch, Danish or German, too.
_COMMON = frozenset(
    ["the", "of", "and", "to", "that", "with", "this", "from", "are", "which", "has", "have",
     "been", "can", "these", "not", "our", "it", "its", "their", "they", "than", "using", "used",
     "between", "would", "there", "what", "how", "will", "you", "my", "if", "when", "but"]
)  # fmt: skip
_WORD = re.compile(r"[^\W\d_]+")
# A title or a list of terms may well do without any of these.
FEWEST_WORDS = 25
LEAST_SHARE = 0.05
FEWEST_LETTERS = 20
# The beginning tells, and a book need not be read for it.
_LOOKED_AT = 20_000


def looks_english(text: str) -> bool:
    """False if most letters are not Latin, or a long text lacks the commonest English words."""
    words = _WORD.findall(text[:_LOOKED_AT])
    letters = "".join(words)
    if len(letters) >= FEWEST_LETTERS and _latin(letters) < 0.5:
        return False
    if len(words) < FEWEST_WORDS:
        return True
    return sum(word.lower() in _COMMON for word in words) >= LEAST_SHARE * len(words)


def _latin(letters: str) -> float:
    """The share of letters that are Latin; Greek ones are common in formulas of any language."""
    counted = [char.isascii() or unicodedata.name(char, "").startswith("LATIN") for char in letters]
    return sum(counted) / len(counted)
