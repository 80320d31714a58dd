"""Words of labels and texts, as vocabularies compare them.

Unlike `text.normalise`, numbers stay numbers: "type 1 diabetes" and "type 2 diabetes" are two
terms. Compatibility characters are resolved, so that "CO₂" is "CO2".
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from keywright.text.stem import stem
from keywright.text.tokenise import plain

# As `text.tokenise` splits, but marks are no words: they only separate.
_WORD = re.compile(r"[#&+*]*[^\W_](?:[^\W_]|[#&+*])*")
_VOWELS = frozenset("aeiouy")
# What may follow a word's unchanging part; "y"/"ies", "e"/"ing", "is"/"es" pair up.
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
    """Without hyphens and without the small s of its plural: "IL-6", "CNNs" give IL6, CNN."""
    return _PLURAL.sub("", "".join(_WORD.findall(plain(text))))


def is_no_word(acronym: str) -> bool:
    """Whether small letters could not make a word of it: co2 and lstm, but not aids."""
    return any(map(str.isdigit, acronym)) or _VOWELS.isdisjoint(acronym.lower())


def singular(word: str) -> str:
    """The form that a plural shares with its singular; quick, and the same for both is enough."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def is_inflected(one: str, other: str) -> bool:
    """Whether two words of the same stem are forms of one: "clusters" and "clustering", but not
    "university" and "universe", which the stemmer throws together."""
    same = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        same += 1
    return _ending(one, same) in _ENDINGS and _ending(other, same) in _ENDINGS


def _ending(word: str, start: int) -> str:
    """What follows the first letters, without a doubled consonant: "ling" of "modelling"."""
    ending = word[start:]
    if start and ending[:1] == word[start - 1] and ending[1:] in ("ed", "ing"):
        return ending[1:]
    return ending
