"""Whether and where a phrase occurs in a text: contiguous runs of stems.

These functions compare sequences of words that the caller has prepared. Whoever looks for phrases
in a document uses `text.reading`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence


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
    """Tokens between blanks, in which a run of tokens is a substring: the quickest test in Python.

    This requires that no token contains a blank, which holds for all tokenisers here.
    """
    return f" {' '.join(tokens)} "
