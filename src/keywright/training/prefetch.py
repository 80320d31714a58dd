"""Build batches in the background while others are trained on."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def ahead(build: Callable[[T], R], items: Iterable[T], depth: int = 2) -> Iterator[R]:
    """`map` in a thread that computes at most `depth` results ahead of the consumer."""
    with ThreadPoolExecutor(1) as pool:
        waiting: deque[Future[R]] = deque()
        for item in items:
            waiting.append(pool.submit(build, item))
            if len(waiting) > depth:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
