"""Words of labels and phrases, as vocabularies compare them.

Unlike `text.normalise`, numbers stay numbers: "type 1 diabetes" and "type 2 diabetes" are two
terms. Compatibility characters are resolved, so that "CO₂" is "CO2".
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from keywright.text.stem import stem
from keywright.text.tokenise import plain

# As in `text.tokenise`, except that marks are not words: they only separate words.
# A run of marks is tried once, from its first mark: see `_END` in generation/sentences.py.
_WORD = re.compile(r"(?<![#&+*])[#&+*]*+[^\W_](?:[^\W_]|[#&+*])*+")
_VOWELS = frozenset("aeiouy")
# Endings of inflected forms: "y" and "ies", "e" and "ing", "is" and "es" belong together.
_ENDINGS = frozenset(["", "s", "es", "e", "ed", "d", "ing", "y", "ies", "ied", "is"])
_PLURAL = re.compile(r"(?<=[A-Z0-9])s$")


def words(text: str) -> list[str]:
    """Lower-case words: "Alzheimer's-like" gives `alzheimer s like`."""
    return _WORD.findall(plain(text).lower())


def stems(words: Iterable[str]) -> list[str]:
    return [word if word.isdecimal() else stem(word) for word in words]


def is_acronym(label: str) -> bool:
    """One word whose letters are mostly capitals: CO2, COVID-19, mRNA; not YouTube."""
    letters = [char for char in label if char.isalpha()]
    capitals = sum(map(str.isupper, letters))
    return len(label.split()) == 1 and capitals >= 2 and 2 * capitals >= len(letters)


def acronym(text: str) -> str:
    """The acronym without hyphens and plural s: "IL-6" and "CNNs" give IL6 and CNN."""
    return _PLURAL.sub("", "".join(_WORD.findall(plain(text))))


def is_nonword(acronym: str) -> bool:
    """Whether an acronym in small letters is not a word: true of co2 and lstm, but not of aids."""
    return any(map(str.isdigit, acronym)) or _VOWELS.isdisjoint(acronym.lower())


def singular(word: str) -> str:
    """A form that a plural shares with its singular. It need not be a correct word."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def is_inflected(first: str, second: str) -> bool:
    """Whether two words with the same stem are forms of one word.

    "clusters" and "clustering" are; "university" and "universe" only share their stem.
    """
    same = 0
    for a, b in zip(first, second, strict=False):
        if a != b:
            break
        same += 1
    return _ending(first, same) in _ENDINGS and _ending(second, same) in _ENDINGS


def _ending(word: str, start: int) -> str:
    """The letters from `start`, without a doubled consonant: "ing" of "modelling", not "ling"."""
    ending = word[start:]
    if start and ending[:1] == word[start - 1] and ending[1:] in ("ed", "ing"):
        return ending[1:]
    return ending
