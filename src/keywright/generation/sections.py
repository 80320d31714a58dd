"""The parts of a paper: its text proper, and the keywords that its authors state.

Names and addresses of authors come before the abstract, references at the end. Phrases from there
are not keyphrases, and their words would distort counts.
"""

from __future__ import annotations

import re
from typing import NamedTuple

# A heading is a line of its own, perhaps with a number: "7. REFERENCES". Blanks are never given
# back: otherwise a line of n blanks would take n * n steps.
_NUMBER = r"^[ \t]*+(?:\d{1,2}|[ivx]{1,5})?\.?[ \t]*+"
_REFERENCES = re.compile(
    _NUMBER + r"(?:references|bibliography|works cited|literature cited)[ \t]*+:?[ \t]*+$",
    re.IGNORECASE | re.MULTILINE,
)
_ABSTRACT = re.compile(
    r"^[ \t]*+(?:abstract|summary)\b[ \t]*+[.:—–-]?", re.IGNORECASE | re.MULTILINE
)
# Keywords are stated in a line of their own or after the last sentence of an abstract.
_STATED = re.compile(
    r"(?:^|(?<=[.!?] ))[ \t]*+(?:general terms[^\n]*\n[ \t]*+)?(?:author )?"
    r"(?:key[ -]?words?|index terms)(?: and phrases)?[ \t]*+(?:[:—–-]+[ \t]*+|\n)"
    r"(?P<list>[^\n]+(?:\n[^\n]+){0,4})",
    re.IGNORECASE | re.MULTILINE,
)
# What ends a list of keywords that continues over several lines: a full stop or the next heading.
_LIST_END = re.compile(
    r"\.(?=\s*+$|[ \t]*+\n|\s+[A-Z])|\n[ \t]*+"
    r"(?:\d{1,2}\.?[ \t]|[IVX]+\.[ \t]|(?i:introduction|abstract|categories|general terms)\b)",
)
_SEPARATORS = (";", "•", "·", " - ", ",")
LATEST_ABSTRACT = 4000  # characters before which an abstract begins, if there is one
LATEST_STATED = 10_000  # characters before which keywords are stated
LEAST_REFERENCES = 0.4  # of a text come before its references
MAX_STATED = 20
MAX_WORDS = 8  # of a stated keyword; longer ones are sentences


class Characters(NamedTuple):
    """The characters [start, end) of a text."""

    start: int
    end: int


def proper(text: str, first: int) -> Characters:
    """The text proper after the character `first`: without authors before it, references after."""
    abstract = _ABSTRACT.search(text, first, min(len(text), first + LATEST_ABSTRACT))
    start = first if abstract is None else abstract.end()
    end = len(text)
    for heading in _REFERENCES.finditer(text):
        if heading.start() >= LEAST_REFERENCES * len(text):
            end = heading.start()
            break
    return Characters(start, end)


def stated(text: str) -> list[Characters]:
    """The keywords that the authors state near the beginning, in their order."""
    found = _STATED.search(text, 0, min(len(text), LATEST_STATED))
    if found is None:
        return []
    start = found.start("list")
    listed = text[start : found.end("list")]
    last = _LIST_END.search(listed)
    listed = listed[: last.start()] if last else listed
    separator = next((mark for mark in _SEPARATORS if mark in listed), None)
    if separator is None:
        listed = listed.split("\n")[0]
    return _pieces(listed, separator, start)


def _pieces(listed: str, separator: str | None, start: int) -> list[Characters]:
    pieces = []
    for piece in listed.split(separator) if separator else [listed]:
        trimmed = piece.strip(" \t\n.,;")
        at = start + piece.find(trimmed)
        if trimmed and len(trimmed.split()) <= MAX_WORDS:
            pieces.append(Characters(at, at + len(trimmed)))
        start += len(piece) + len(separator or "")
    return pieces[:MAX_STATED]
