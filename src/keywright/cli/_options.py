"""What several verbs share: lists on the command line, output formats, progress."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from keywright.errors import UnknownNameError

T = TypeVar("T")


def listed(values: list[str] | None) -> list[str]:
    """`--metrics a,b --metrics c` and `--metrics "a b c"` alike."""
    return [name for value in values or () for name in value.replace(",", " ").split()]


def one_of(kind: str, value: str, known: Iterable[str]) -> str:
    known = list(known)
    if value not in known:
        raise UnknownNameError(kind, value, known)
    return value


def progress(items: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
    """A progress bar on standard error, where a person watches it."""
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import Progress

    # What is printed meanwhile moves above the bar, but into a pipe it must go as it is.
    bar = Progress(
        console=Console(stderr=True), transient=True, redirect_stdout=sys.stdout.isatty()
    )
    with bar:
        yield from bar.track(items, total=total, description=description)


@contextmanager
def counter(description: str) -> Iterator[Callable[[int], None]]:
    """A running count on standard error, for work that reports how much of it is done."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TextColumn("{task.completed:,} documents"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=None)
        yield lambda done: bar.update(task, completed=done)
