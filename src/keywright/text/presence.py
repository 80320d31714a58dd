"""Where a phrase stands in a text: contiguous runs of stems, or substrings of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from keywright.text.stem import stems
from keywright.text.tokenise import normalise, spans


class Place(NamedTuple):
    """An occurrence: tokens [token, token_end) and characters [start, end) of the text."""

    token: int
    token_end: int
    start: int
    end: int


def runs(phrase: Sequence[str], source: Sequence[str]) -> Iterator[int]:
    """The positions at which `phrase` occurs as a contiguous run of `source`, both stemmed.

    An empty phrase occurs nowhere.
    """
    if not phrase:
        return
    first, length = phrase[0], len(phrase)
    phrase = list(phrase)
    source = list(source)
    start = -1
    try:
        while True:
            start = source.index(first, start + 1)
            if source[start : start + length] == phrase:
                yield start
    except ValueError:
        return


def first_run(phrase: Sequence[str], source: Sequence[str]) -> int | None:
    return next(runs(phrase, source), None)


def padded(tokens: Sequence[str]) -> str:
    """Tokens between blanks, so that a token run is a substring: the quickest test in Python.

    It holds as long as no token contains a blank, which no tokeniser here produces.
    """
    return f" {' '.join(tokens)} "


def places(phrase: str, text: str) -> list[Place]:
    """All occurrences of a phrase in a raw text, matched by stems, with their offsets."""
    found = spans(text)
    wanted = stems(normalise(phrase))
    return [
        Place(at, at + len(wanted), found[at].start, found[at + len(wanted) - 1].end)
        for at in runs(wanted, stems(normalise(text)))
    ]
