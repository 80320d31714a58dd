"""Progress on standard error, shown only where a person is watching it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

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


class Meter:
    """How far a long run is: share done, documents per second, time left and failures.

    On a terminal it is a bar; in a log it is a line from time to time.
    """

    def __init__(self, description: str, every: float = 60.0) -> None:
        self._description = description
        self._every = every
        self._first: tuple[float, int] | None = None  # time and documents at the start
        self._last = 0.0
        self._live: Any = None

    def __enter__(self) -> Meter:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), transient=True)
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._live.stop()

    def update(self, done: int, total: int, failures: int) -> None:
        now = time.monotonic()
        if self._first is None:
            self._first = now, done
            self._last = now
        text = self._text(now, done, total, failures)
        if self._live is not None:
            from rich.text import Text

            self._live.update(Text(text))
        elif now - self._last >= self._every:
            self._last = now
            sys.stderr.write(text + "\n")

    def _text(self, now: float, done: int, total: int, failures: int) -> str:
        start, before = self._first or (now, done)
        rate = (done - before) / (now - start) if now > start else 0.0
        share = done / total if total else 1.0
        parts = [f"{self._description}: {done:,} of {total:,} documents ({share:.1%})"]
        if rate > 0:
            left = timedelta(seconds=round((total - done) / rate))
            parts += [f"{rate:,.1f} documents/s", f"{left} left"]
        parts.append(f"{failures:,} failures")
        return ", ".join(parts)
