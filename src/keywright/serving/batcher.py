"""Items that arrive together are worked on together, in one thread off the event loop.

An idle worker waits a moment for company, unless the last item came without any; a busy one finds
it waiting. A batch is the item that waited longest and those most like it in length, so that
nothing starves and little is padded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class QueueFullError(Exception):
    """There is no room for these items now."""


class ClosedError(Exception):
    """The batcher takes nothing more: the service is shutting down."""


@dataclass(frozen=True, eq=False)
class _Waiting(Generic[Item, Result]):
    item: Item
    length: int
    result: asyncio.Future[Result]


class Batcher(Generic[Item, Result]):
    """Calls `work` with batches of at most `batch` items; at most `capacity` items wait.

    The lengths of a batch add up to `most_length` at most, unless it is one item that is longer:
    what comes next must not wait for all the long ones.
    `wait` is how many seconds an idle worker waits for more items. `done` is told the size of every
    batch. All methods belong to one event loop, only `work` runs in a thread.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Item]], Sequence[Result]],
        length: Callable[[Item], int],
        *,
        batch: int = 32,
        most_length: int = 64_000,
        wait: float = 0.005,
        capacity: int = 256,
        done: Callable[[int], None] = lambda size: None,
    ) -> None:
        self._work = work
        self._length = length
        self._batch = batch
        self._most_length = most_length
        self._wait = wait
        self._capacity = capacity
        self._done = done
        self._waiting: list[_Waiting[Item, Result]] = []
        self._changed = asyncio.Event()
        self._closing = False
        self._lonely = True  # whether the last item had no company: a single client need not wait
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="keywright-batch")
        self._task: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> int:
        """How many items wait for the worker."""
        return len(self._waiting)

    @property
    def running(self) -> bool:
        return self._task is not None and not self._task.done() and not self._closing

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Take nothing more, and finish what was taken."""
        self._closing = True
        self._changed.set()
        if self._task is not None:
            await self._task
        self._thread.shutdown()

    async def submit(self, items: Sequence[Item]) -> list[Result]:
        """The results of all items, in their order; all of them are taken, or none.

        Cancelled while it waits, it takes back what the worker has not begun.
        """
        if not self.running:
            raise ClosedError
        if len(self._waiting) + len(items) > self._capacity:
            raise QueueFullError
        loop = asyncio.get_running_loop()
        mine = [_Waiting(item, self._length(item), loop.create_future()) for item in items]
        self._waiting += mine
        self._changed.set()
        try:
            return [await one.result for one in mine]
        finally:
            self._take_back(mine)

    def _take_back(self, mine: Sequence[_Waiting[Item, Result]]) -> None:
        given_up = {one for one in mine if one.result.cancelled() or one.result.cancel()}
        for one in mine:
            if one not in given_up:
                one.result.exception()  # seen, even where an earlier item's error was raised
        if given_up:
            self._waiting = [one for one in self._waiting if one not in given_up]

    async def _run(self) -> None:
        while True:
            while not self._waiting and not self._closing:
                await self._next_change()
            if not self._waiting:
                return
            if not self._lonely:
                await self._gather()
            if batch := self._take():
                await self._finish(batch)
                self._lonely = len(batch) + len(self._waiting) == 1

    async def _next_change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    async def _gather(self) -> None:
        """Wait until a batch is full, the time is up or nothing more can come."""
        try:
            async with asyncio.timeout(self._wait):
                while len(self._waiting) < self._batch and not self._closing:
                    await self._next_change()
        except TimeoutError:
            pass  # company did not come

    def _take(self) -> list[_Waiting[Item, Result]]:
        if not self._waiting:
            return []  # all were taken back meanwhile
        oldest = self._waiting[0].length
        # Sorting is stable: of equals, those that waited longer go first, the oldest of all among
        # them, since nothing is nearer to its length than itself.
        near = sorted(self._waiting, key=lambda one: abs(one.length - oldest))[: self._batch]
        so_far = accumulate(one.length for one in near)
        fitting = sum(length <= self._most_length for length in so_far)
        batch = near[: max(1, fitting)]
        taken = set(batch)
        self._waiting = [one for one in self._waiting if one not in taken]
        return batch

    async def _finish(self, batch: Sequence[_Waiting[Item, Result]]) -> None:
        """Work on a batch. If that fails, on each item alone: one must not spoil the others."""
        try:
            results = await self._call([one.item for one in batch])
        except Exception as error:
            if len(batch) == 1:
                if not batch[0].result.done():
                    batch[0].result.set_exception(error)
                return
            for one in batch:
                if not one.result.done():
                    await self._finish([one])
            return
        for one, result in zip(batch, results, strict=True):
            if not one.result.done():
                one.result.set_result(result)

    async def _call(self, items: Sequence[Item]) -> Sequence[Result]:
        loop = asyncio.get_running_loop()
        results = await loop.run_in_executor(self._thread, self._work, items)
        if len(results) != len(items):
            raise RuntimeError(f"{len(items)} items gave {len(results)} results")
        self._done(len(items))
        return results
