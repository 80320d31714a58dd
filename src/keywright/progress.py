"""Progress on standard error, shown only where a person is watching it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


def progress(items: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
    """The same items, with a progress bar."""
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import Progress

    # Text printed meanwhile appears above the bar on a terminal; into a pipe it must go unchanged.
    bar = Progress(
        console=Console(stderr=True), transient=True, redirect_stdout=sys.stdout.isatty()
    )
    with bar:
        yield from bar.track(items, total=total, description=description)


@contextmanager
def counter(description: str, unit: str = "documents") -> Iterator[Callable[[int], None]]:
    """A running count, for work that reports how much of it is done."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TextColumn(f"{{task.completed:,}} {unit}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=None)
        yield lambda done: bar.update(task, completed=done)
