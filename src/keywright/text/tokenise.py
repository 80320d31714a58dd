"""Words of a text: as the field prepares them, and as a reader sees them.

`normalise` follows Meng et al. (2017): lower case, punctuation split off, numbers to `<digit>`.
`spans` keeps case and character offsets for everything that points back into the text; the i-th
normalised token is the i-th span, so the two views line up.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from keywright.types import Document

DIGIT = "<digit>"
# What the prepared corpora already contain must survive being normalised again.
_SPECIAL = r"<(?:digit|unk|eos|peos|sep|bos|pad|null)>"
# The release's rule, with letters of every script: these marks are words of their own, `#&+*`
# belong to words (c++, r&d), and all else (hyphens, slashes, quotes, ...) only separates.
_TOKEN = re.compile(rf"{_SPECIAL}|(?:[^\W_]|[#&+*])+|[_<>,().'%]")
_PLACEHOLDER = re.compile(r"\b(?:DIGIT|URL)\b")
_SEPARATE_MARK = re.compile(r"(?<!\S)[.,](?!\S)")
_GLUED_MARK = re.compile(r"\w[.,;:!?)\]](?:\s|$)|[(\[]\w")


class Span(NamedTuple):
    """A word with the characters [start, end) of the text it stands in."""

    text: str
    start: int
    end: int


def spans(text: str) -> list[Span]:
    return [Span(match[0], match.start(), match.end()) for match in _TOKEN.finditer(text)]


def starts(text: str) -> list[int]:
    """The character each token begins at: a third of the cost of `spans`."""
    return [match.start() for match in _TOKEN.finditer(text)]


def normalise(text: str) -> list[str]:
    """Lower-case tokens, numbers as `<digit>`: "BERT-2 wins." gives `bert <digit> wins .`"""
    return [_normal(token) for token in _TOKEN.findall(text)]


def _normal(token: str) -> str:
    # `isdecimal` and not `isdigit`: "²" is no number of its own, and int() would not take it.
    return DIGIT if token.isdecimal() else token.lower()


def plain(text: str) -> str:
    """Compatibility characters resolved, as in "CO₂" to "CO2"."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def looks_tokenised(text: str) -> bool:
    """Whether a text is already lower-case words between blanks, as prepared test sets are.

    (`DIGIT` and `URL` are how the StackExchange corpus writes what it left out.) Abbreviations such
    as "i.e." keep their dots there, so marks that stand alone are weighed against glued ones.
    """
    text = _PLACEHOLDER.sub("", text)
    if text != text.lower():
        return False
    return len(_SEPARATE_MARK.findall(text)) >= len(_GLUED_MARK.findall(text))


def words(text: str, tokenised: bool) -> list[str]:
    """The normalised words of a text, split at blanks where it is tokenised already."""
    return text.split() if tokenised else normalise(text)


def document_words(document: Document) -> tuple[list[str], list[str]]:
    """The normalised words of title and body."""
    return words(document.title, document.tokenised), words(document.body, document.tokenised)
