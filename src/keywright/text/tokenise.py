"""Words of a text: as the field prepares them, and where they are.

`normalise` follows Meng et al. (2017): lower case, punctuation split off, numbers to `<digit>`.
`spans` gives the characters of the same tokens, for everything that points back into the text: the
i-th normalised token is at the i-th span.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from keywright.types import Document

DIGIT = "<digit>"
# Marks that prepared corpora contain; normalising them again must not change them.
_SPECIAL = r"<(?:digit|unk|eos|peos|sep|bos|pad|null)>"
# The release's rule, extended to letters of every script: the marks in the last brackets are words
# of their own, `#&+*` belong to words (c++, r&d), and everything else (hyphens, slashes, quotes,
# ...) only separates words.
_TOKEN = re.compile(rf"{_SPECIAL}|(?:[^\W_]|[#&+*])+|[_<>,().'%]")
_BETWEEN_BLANKS = re.compile(r"\S+")
_PLACEHOLDER = re.compile(r"\b(?:DIGIT|URL)\b")
_SEPARATE_MARK = re.compile(r"(?<!\S)[.,](?!\S)")
_ATTACHED_MARK = re.compile(r"\w[.,;:!?)\]](?:\s|$)|[(\[]\w")

# People write text without blanks before marks.
_BEFORE, _AFTER = re.compile(r" (?=[.,)%;:?!](?: |$))"), re.compile(r"(?<=\() ")
# Prepared texts have `<digit>` for every number, which a reader would take for the word "digit".
# An `<unk>` may be any word, so no phrase may contain it.
_PLACEHOLDERS = {DIGIT: "0", "<unk>": ","}


def spans(text: str, tokenised: bool = False) -> list[tuple[int, int]]:
    """The characters [start, end) of the tokens that `words` gives, one pair for each."""
    pattern = _BETWEEN_BLANKS if tokenised else _TOKEN
    return [match.span() for match in pattern.finditer(text)]


def tokens(text: str) -> list[str]:
    """The tokens as they are written."""
    found: list[str] = _TOKEN.findall(text)
    return found


def starts(text: str) -> list[int]:
    """The character at which each token begins."""
    return [match.start() for match in _TOKEN.finditer(text)]


def normalise(text: str) -> list[str]:
    """Lower-case tokens, numbers as `<digit>`: "BERT-2 wins." gives `bert <digit> wins .`"""
    return [normal(token) for token in tokens(text)]


def normal(token: str) -> str:
    """The normalised form of one token."""
    # `isdecimal` and not `isdigit`: "²" is not a number by itself, and int() would not accept it.
    return DIGIT if token.isdecimal() else token.lower()


def plain(text: str) -> str:
    """The text with compatibility characters resolved: "CO₂" gives "CO2"."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def looks_tokenised(text: str) -> bool:
    """Whether a text already consists of lower-case words between blanks, as prepared test sets do.

    (`DIGIT` and `URL` are the placeholders of the StackExchange corpus.) Abbreviations such as
    "i.e." keep their dots in such texts, so separate marks are counted against attached ones.
    """
    text = _PLACEHOLDER.sub("", text)
    if text != text.lower():
        return False
    return len(_SEPARATE_MARK.findall(text)) >= len(_ATTACHED_MARK.findall(text))


def words(text: str, tokenised: bool) -> list[str]:
    """The normalised words of a text; a tokenised text is only split at blanks."""
    return text.split() if tokenised else normalise(text)


def document_words(document: Document) -> tuple[list[str], list[str]]:
    """The normalised words of title and body."""
    return words(document.title, document.tokenised), words(document.body, document.tokenised)


def model_words(document: Document) -> tuple[list[str], list[str]]:
    """The words of title and body that a model reads: `document_words` without the full stop that
    prepared test sets have after every title. Titles as people write them have none, and a model
    that learnt from those would be surprised.
    """
    title, body = document_words(document)
    if document.tokenised and title[-1:] == ["."]:
        title.pop()
    return title, body


def running(tokens: Iterable[str]) -> str:
    """Prepared words as people write text, for readers other than our models."""
    joined = " ".join(_PLACEHOLDERS.get(token, token) for token in tokens)
    return _AFTER.sub("", _BEFORE.sub("", joined))
