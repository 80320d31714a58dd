"""Sentences of a text, with their places."""

from __future__ import annotations

import re
from typing import NamedTuple

# A full stop ends a sentence unless it follows one of these, or an initial such as "J.".
_ABBREVIATIONS = frozenset(
    ["e.g", "i.e", "etc", "al", "vs", "cf", "fig", "figs", "eq", "eqs", "sec", "dr", "mr", "mrs",
     "ms", "prof", "st", "no", "vol", "pp", "approx", "resp", "ca", "inc", "ltd"]
)  # fmt: skip
_END = re.compile(r"[.!?…]+[\"'”’)\]]*(?=\s+[\"'“‘(\[]?[A-Z0-9\u00c0-\u00de])|\n\s*\n|[。！？]")


class Sentence(NamedTuple):
    """The characters [start, end) of a text."""

    text: str
    start: int
    end: int


def sentences(text: str) -> list[Sentence]:
    """A text cut at sentence ends and blank lines; white space around sentences is left out."""
    found = []
    start = 0
    for match in _END.finditer(text):
        if match[0][0] == "." and _is_abbreviation(text[start : match.start()]):
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
