"""Splits a text into sentences."""

from __future__ import annotations

import re
from typing import NamedTuple

# A full stop ends a sentence unless it follows one of these or an initial such as "J.".
_ABBREVIATIONS = frozenset(
    ["e.g", "i.e", "etc", "al", "vs", "cf", "fig", "figs", "eq", "eqs", "sec", "dr", "mr", "mrs",
     "ms", "prof", "st", "no", "vol", "pp", "approx", "resp", "ca", "inc", "ltd"]
)  # fmt: skip
# The longest end of a word that `_is_abbreviation` looks at, opening brackets and quotes included.
_LOOK_BACK = 40
# A run of marks is tried once, from its first mark, and never given back: otherwise a run of n
# marks that ends no sentence would take n * n steps.
_END = re.compile(
    r"(?<![.!?…])[.!?…]++[\"'”’)\]]*+(?=\s++[\"'“‘(\[]?[A-Z0-9\u00c0-\u00de])|\n\s*\n|[。！？]"
)


class Sentence(NamedTuple):
    """The characters [start, end) of a text."""

    text: str
    start: int
    end: int


def sentences(text: str) -> list[Sentence]:
    """A text split at sentence ends and blank lines, without white space around sentences."""
    found = []
    start = 0
    for match in _END.finditer(text):
        before = text[max(start, match.start() - _LOOK_BACK) : match.start()]
        if match[0][0] == "." and _is_abbreviation(before):
            continue
        found.append(_trimmed(text, start, match.end()))
        start = match.end()
    found.append(_trimmed(text, start, len(text)))
    return [sentence for sentence in found if sentence.text]


def _is_abbreviation(before: str) -> bool:
    last = before.rsplit(None, 1)[-1] if before.strip() else ""
    last = last.lstrip("([\"'")
    return last.lower() in _ABBREVIATIONS or (len(last) == 1 and last.isupper())


def _trimmed(text: str, start: int, end: int) -> Sentence:
    words = text[start:end]
    start += len(words) - len(words.lstrip())
    words = words.strip()
    return Sentence(words, start, start + len(words))
