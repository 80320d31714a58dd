"""What several verbs share: lists and names on the command line."""

from __future__ import annotations

from collections.abc import Iterable

from keywright.errors import UnknownNameError


def listed(values: list[str] | None) -> list[str]:
    """The names of `--metrics a,b --metrics c`, or of `--metrics "a b c"`, which means the same."""
    return [name for value in values or () for name in value.replace(",", " ").split()]


def one_of(kind: str, value: str, known: Iterable[str]) -> str:
    """The value, or an error that names the nearest known one."""
    known = list(known)
    if value not in known:
        raise UnknownNameError(kind, value, known)
    return value
