"""Character references of HTML, such as `&amp;` and `&#39;`, that were left in plain text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from html import unescape
from html.entities import html5

Place = tuple[int, int]

# Bounded, so that a text of ampersands takes no longer than another.
_REFERENCE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


def without_references(text: str) -> str:
    """A text with the characters that references stand for; unknown ones stay as they are."""
    return _REFERENCE.sub(_character, text) if "&" in text else text


def original_places(text: str) -> Callable[[Place], Place]:
    """Where a stretch of `without_references(text)` is in `text`; a reference counts as a whole."""
    ends: list[int] = []  # of references, in the text without them
    removed = [0]  # characters that are missing after so many references
    for found in _REFERENCE.finditer(text) if "&" in text else ():
        removed.append(removed[-1] + len(found[0]) - len(_character(found)))
        ends.append(found.end() - removed[-1])

    def original(position: int) -> int:
        return position + removed[bisect_right(ends, position)]

    return lambda place: (original(place[0]), original(place[1]))


def _character(found: re.Match[str]) -> str:
    name = found[0][1:]
    # Without the last test "&notify;" would become "¬ify;".
    return unescape(found[0]) if name.startswith("#") or name in html5 else found[0]
