"""Batches items that arrive together and processes them in one thread off the event loop.

An idle worker waits briefly for more items, unless the last item arrived alone; a busy worker finds
them in the queue. A batch consists of the item that has waited longest and the items closest to it
in length, so that no item starves and little is padded.
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
    """The queue has no room for these items."""


class ClosedError(Exception):
    """The batcher accepts no more items: the service is shutting down."""


@dataclass(frozen=True, eq=False)
class _Entry(Generic[Item, Result]):
    item: Item
    length: int
    result: asyncio.Future[Result]


class Batcher(Generic[Item, Result]):
    """Calls `work` with batches of at most `batch` items; at most `capacity` items wait.

    The lengths of a batch add up to at most `max_length`, unless a single item is longer: the next
    batch must not wait for many long items. `wait` is the number of seconds for which an idle
    worker waits for more items. `done` is called with the size of every batch. All methods run in
    one event loop; only `work` runs in a thread.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Item]], Sequence[Result]],
        length: Callable[[Item], int],
        *,
        batch: int = 32,
        max_length: int = 64_000,
        wait: float = 0.005,
        capacity: int = 256,
        done: Callable[[int], None] = lambda size: None,
    ) -> None:
        self._work = work
        self._length = length
        self._batch = batch
        self._max_length = max_length
        self._wait = wait
        self._capacity = capacity
        self._done = done
        self._waiting: list[_Entry[Item, Result]] = []
        self._changed = asyncio.Event()
        self._closing = False
        self._alone = True  # whether the last item arrived alone: a single client need not wait
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
        """Accept no more items, and finish those that were accepted."""
        self._closing = True
        self._changed.set()
        if self._task is not None:
            await self._task
        self._thread.shutdown()

    async def submit(self, items: Sequence[Item]) -> list[Result]:
        """The results of all items, in their order; either all items are accepted or none.

        If cancelled while waiting, it withdraws the items that the worker has not started.
        """
        if not self.running:
            raise ClosedError
        if len(self._waiting) + len(items) > self._capacity:
            raise QueueFullError
        loop = asyncio.get_running_loop()
        entries = [_Entry(item, self._length(item), loop.create_future()) for item in items]
        self._waiting += entries
        self._changed.set()
        try:
            return [await entry.result for entry in entries]
        finally:
            self._withdraw(entries)

    def _withdraw(self, entries: Sequence[_Entry[Item, Result]]) -> None:
        unfinished = {
            entry for entry in entries if entry.result.cancelled() or entry.result.cancel()
        }
        for entry in entries:
            if entry not in unfinished:
                entry.result.exception()  # retrieved, even if an earlier item's error was raised
        if unfinished:
            self._waiting = [entry for entry in self._waiting if entry not in unfinished]

    async def _run(self) -> None:
        while True:
            while not self._waiting and not self._closing:
                await self._next_change()
            if not self._waiting:
                return
            if not self._alone:
                await self._gather()
            if batch := self._take():
                await self._finish(batch)
                self._alone = len(batch) + len(self._waiting) == 1

    async def _next_change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    async def _gather(self) -> None:
        """Wait until a batch is full, the time is up or the batcher closes."""
        try:
            async with asyncio.timeout(self._wait):
                while len(self._waiting) < self._batch and not self._closing:
                    await self._next_change()
        except TimeoutError:
            pass  # the batch stays smaller

    def _take(self) -> list[_Entry[Item, Result]]:
        if not self._waiting:
            return []  # all were withdrawn meanwhile
        oldest = self._waiting[0].length
        # Sorting is stable: among equal distances the longest-waiting come first, so the oldest
        # item, at distance 0, is always in the batch.
        near = sorted(self._waiting, key=lambda entry: abs(entry.length - oldest))[: self._batch]
        totals = accumulate(entry.length for entry in near)
        fitting = sum(length <= self._max_length for length in totals)
        batch = near[: max(1, fitting)]
        taken = set(batch)
        self._waiting = [entry for entry in self._waiting if entry not in taken]
        return batch

    async def _finish(self, batch: Sequence[_Entry[Item, Result]]) -> None:
        """Process a batch; if that fails, each item alone, so that one does not fail the others."""
        try:
            results = await self._call([entry.item for entry in batch])
        except Exception as error:
            if len(batch) == 1:
                if not batch[0].result.done():
                    batch[0].result.set_exception(error)
                return
            for entry in batch:
                if not entry.result.done():
                    await self._finish([entry])
            return
        for entry, result in zip(batch, results, strict=True):
            if not entry.result.done():
                entry.result.set_result(result)

    async def _call(self, items: Sequence[Item]) -> Sequence[Result]:
        loop = asyncio.get_running_loop()
        results = await loop.run_in_executor(self._thread, self._work, items)
        if len(results) != len(items):
            raise RuntimeError(f"{len(items)} items gave {len(results)} results")
        self._done(len(items))
        return results
