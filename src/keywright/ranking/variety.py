"""A list of phrases that do not repeat each other.

The most probable candidates of a text often contain each other: "radiation", "radiation therapy",
"radiation therapy risks". The first few of a list are chosen by probability alone, because any of
them may be the right one. Further ones are there to complete the list, and whoever reads it learns
more from a phrase that says something else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keywright.text.reading import Stems

FIRST = 5  # phrases that are chosen by probability alone
# What is taken from the log-odds of a phrase for each of the list that contains it or is a part of
# it. Chosen with 500N-KPCrowd in view, as the value that costs least on validation documents of
# news and web pages: docs/benchmarks.md.
REPETITION = 1.0


def varied(
    phrases: Sequence[Stems], log_odds: Sequence[float], count: int, first: int = FIRST
) -> set[int]:
    """Which of the phrases, given best first, to list: `count` of them, if there are as many.

    The `first` ones are always among them.
    """
    first = min(first, count)
    if count >= len(phrases) or first == count:
        return set(range(min(count, len(phrases))))
    related = _related(phrases)
    left = dict(enumerate(log_odds))
    for chosen in range(first):
        _list(chosen, left, related)
    while len(phrases) - len(left) < count:
        _list(max(left, key=left.__getitem__), left, related)
    return set(range(len(phrases))) - left.keys()


def _list(chosen: int, left: dict[int, float], related: Sequence[Sequence[int]]) -> None:
    """Move a phrase from those that are left to the list."""
    del left[chosen]
    for other in related[chosen]:
        if other in left:
            left[other] -= REPETITION


def _related(phrases: Sequence[Stems]) -> list[list[int]]:
    """For each phrase those that contain it or that it contains."""
    number = {phrase: at for at, phrase in enumerate(phrases)}
    related: list[list[int]] = [[] for _ in phrases]
    for at, phrase in enumerate(phrases):
        for part in set(_parts(phrase)):
            inner = number.get(part)
            if inner is not None:
                related[at].append(inner)
                related[inner].append(at)
    return related


def _parts(phrase: Stems) -> Iterator[Stems]:
    """All shorter runs of a phrase's words."""
    for length in range(1, len(phrase)):
        for start in range(len(phrase) - length + 1):
            yield phrase[start : start + length]
