"""Work for several processes of this machine."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
R = TypeVar("R")


def usable_cpus() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_processes(function: Callable[[T], R], items: Iterable[T], processes: int) -> Iterator[R]:
    """A function's value for every item, in order; few items are in memory at a time."""
    if processes < 2:
        yield from map(function, items)
        return
    # Imported here, because few programs need it and each waits for imports.
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    waiting: deque[Future[R]] = deque()
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > 2 * processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
