"""The errors that keywright raises on bad input: each names the value, its location and a remedy.

The command line turns a `KeywrightError` into one line on standard error and exit code 2; any other
exception is a bug and keeps its traceback.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


class KeywrightError(Exception):
    """Something the user can correct. Its text is one line, whatever it quotes."""

    def __str__(self) -> str:
        return " ".join(super().__str__().splitlines())


class DataError(KeywrightError):
    """A file that cannot be read or written as expected."""

    def __init__(self, message: str, path: str | Path | None = None, line: int | None = None):
        place = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(place + message)


class ConfigError(KeywrightError):
    """A setting that does not exist or has a wrong value."""


class MissingExtraError(KeywrightError):
    """An optional library that is needed but not installed."""

    def __init__(self, what: str, library: str, extra: str):
        super().__init__(
            f"{what} needs {library}, which is not installed; "
            f"install it with: pip install 'keywright[{extra}]'"
        )


class UnknownNameError(KeywrightError):
    """A name that does not exist."""

    def __init__(self, kind: str, name: str, known: Iterable[str]):
        known = sorted(known)
        super().__init__(f"unknown {kind} {name!r}{nearest(name, known)}")


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of an error message: the most similar name if there is one, and all names."""
    from rapidfuzz import fuzz, process  # imported only for errors

    known = list(known)
    if not known:
        return "; there is none"
    match = process.extractOne(name, known, scorer=fuzz.ratio, processor=str.lower, score_cutoff=50)
    if match is not None:
        return f"; did you mean {match[0]!r}? Known: {', '.join(known)}"
    return f"; known: {', '.join(known)}"
