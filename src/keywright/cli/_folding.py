"""Text folded to the width of a terminal. Its length stays the same, so that places stay valid."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

# A line of at least this many characters continues in the next one, as on the page of the service.
LONG_LINE = 40


def flowing(text: str, start: int) -> str:
    """The text from `start` on with one line per paragraph: line ends within become spaces."""
    lines = text[start:].split("\n")
    ends = [
        " " if len(line) >= LONG_LINE and following.strip() else "\n"
        for line, following in itertools.pairwise(lines)
    ]
    return text[:start] + "".join(map(str.__add__, lines, [*ends, ""]))


def folded(text: str, width: int, marks: Mapping[int, int]) -> str:
    """The text with line ends instead of spaces, so that its lines fit into the width.

    `marks` has the columns that are to be added before some characters.
    """
    from rich.cells import cell_len

    made = list(text)
    column, space, after_space = 0, -1, 0
    for at, character in enumerate(text):
        if character == "\n":
            column, space = 0, -1
            continue
        column += marks.get(at, 0) + (1 if character.isascii() else cell_len(character))
        if character == " ":
            space, after_space = at, column
        elif column > width and space >= 0:
            made[space] = "\n"
            column, space = column - after_space, -1
    return "".join(made)
