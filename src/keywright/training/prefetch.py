"""Build batches while others train."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def ahead(build: Callable[[T], R], items: Iterable[T], depth: int = 2) -> Iterator[R]:
    """`map`, by a thread that is at most `depth` results ahead of who asks for them."""
    with ThreadPoolExecutor(1) as pool:
        waiting: deque[Future[R]] = deque()
        for item in items:
            waiting.append(pool.submit(build, item))
            if len(waiting) > depth:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
