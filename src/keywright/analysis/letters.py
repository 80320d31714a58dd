"""Significance as letters: systems that share a letter do not differ significantly.

One letter replaces a matrix of p-values. The letters are found by inserting one significant
difference after another and absorbing superfluous groups (Piepho 2004, "An algorithm for a
letter-based representation of all-pairwise comparisons").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from string import ascii_lowercase

Group = frozenset[str]


def letters(best_first: Sequence[str], differ: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The letters of each system, "a" for the group of the best one.

    `differ` are the pairs of systems that differ significantly.
    """
    groups: list[Group] = [frozenset(best_first)]
    for pair in differ:
        groups = list(_inserted(groups, frozenset(pair)))
    rank = {name: at for at, name in enumerate(best_first)}
    groups.sort(key=lambda group: sorted(rank[name] for name in group))
    named = list(zip(_names(), groups, strict=False))
    return {name: "".join(letter for letter, group in named if name in group) for name in rank}


def _inserted(groups: Sequence[Group], pair: Group) -> Iterable[Group]:
    """The largest groups that no longer contain both systems of a pair."""
    split = {group - {name} for group in groups if pair <= group for name in pair}
    kept = {group for group in groups if not pair <= group}
    for group in kept | split:
        if not any(group < other for other in kept | split):
            yield group


def _names() -> Iterable[str]:
    """a, b, ..., z, a1, b1, ..."""
    for turn in count():
        for letter in ascii_lowercase:
            yield letter if turn == 0 else f"{letter}{turn}"
