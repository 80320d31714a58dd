"""Which language a text is in, by its most frequent words, and the stop words of languages.

Only Latin languages whose stop words are in `stopwords/` are told apart: their lists are what an
extractor needs to know about a language.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from keywright.text.candidates import STOPWORDS

ENGLISH = "en"
NAMES = {
    "da": "Danish",
    "de": "German",
    "es": "Spanish",
    "fr": "French",
    "it": "Italian",
    "nl": "Dutch",
    "pt": "Portuguese",
    "sv": "Swedish",
}
_FOLDER = Path(__file__).parent / "stopwords"
_WORD = re.compile(r"[^\W\d_]+")
# The beginning is enough to decide, even for a book.
_LOOKED_AT = 20_000
FEWEST = 3  # words of the language: fewer may be names and quotations
LEAST_SHARE = 0.15  # of all words; prose has a third and more
MUCH_MORE = 1.5  # times the share of English stop words


@cache
def stopwords(language: str | None) -> frozenset[str]:
    """The stop words of a language; none if it is unknown."""
    if language == ENGLISH:
        return STOPWORDS
    if language not in NAMES:
        return frozenset()
    return frozenset((_FOLDER / f"{language}.txt").read_text("utf-8").split())


def stopword_shares(text: str) -> dict[str, float]:
    """For every language the share of words that are its stop words; empty without words."""
    words = [word.lower() for word in _WORD.findall(text[:_LOOKED_AT])]
    if not words:
        return {}
    return {
        code: sum(map(stopwords(code).__contains__, words)) / len(words)
        for code in (ENGLISH, *NAMES)
    }


def other_language(text: str, shares: Mapping[str, float] | None = None) -> str | None:
    """The code of the language of a text if it is one of `NAMES`; None if it may be English.

    `shares` are its `stopword_shares`, if they are known already.
    """
    shares = stopword_shares(text) if shares is None else shares
    if not shares:
        return None
    # Of two languages with the same share, the shorter list says more.
    best = max(NAMES, key=lambda code: (shares[code], -len(stopwords(code))))
    enough = shares[best] >= LEAST_SHARE and shares[best] * len(_WORD.findall(text)) >= FEWEST
    return best if enough and shares[best] > MUCH_MORE * shares[ENGLISH] else None
