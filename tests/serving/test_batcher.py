"""Concurrent items are processed in batches, and every caller gets its own results."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

import pytest

from keywright.serving.batcher import Batcher, ClosedError, QueueFullError

T = TypeVar("T")


class Worker:
    """Doubles numbers; blocks while `open` is cleared, and fails on 13."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.open.set()
        self.begun = threading.Event()
        self.batches: list[list[int]] = []
        self.threads: set[int] = set()

    def __call__(self, items: Sequence[int]) -> list[int]:
        self.begun.set()
        assert self.open.wait(60)
        self.batches.append(list(items))
        self.threads.add(threading.get_ident())
        if 13 in items:
            raise ValueError("13")
        return [2 * item for item in items]


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(work, 60))


async def holding(worker: Worker, batcher: Batcher[int, int]) -> asyncio.Task[list[int]]:
    """Block the worker with a first item, so that others wait."""
    worker.open.clear()
    first = asyncio.create_task(batcher.submit([0]))
    assert await asyncio.to_thread(worker.begun.wait, 60)
    return first


def test_concurrent_results_keep_their_order() -> None:
    async def work() -> None:
        worker = Worker()
        batcher = Batcher(worker, lambda item: item % 7, batch=8, capacity=10_000)
        batcher.start()
        asked = [[n, n + 1000, n + 500] for n in range(14, 214)]
        answers = await asyncio.gather(*(batcher.submit(items) for items in asked))
        assert answers == [[2 * item for item in items] for items in asked]
        assert max(map(len, worker.batches)) == 8
        assert len(worker.batches) == 600 / 8  # batches are full while items wait
        assert threading.get_ident() not in worker.threads
        await batcher.close()

    run(work())


def test_a_batch_has_similar_lengths_and_the_longest_waiting_item() -> None:
    async def work() -> None:
        worker = Worker()
        batcher = Batcher(worker, lambda item: item, batch=3, wait=0)
        batcher.start()
        first = await holding(worker, batcher)
        others = asyncio.create_task(batcher.submit([500, 1, 501, 2, 499, 3]))
        await asyncio.sleep(0)
        worker.open.set()
        assert await others == [1000, 2, 1002, 4, 998, 6]
        await first
        assert worker.batches == [[0], [500, 501, 499], [1, 2, 3]]
        await batcher.close()

    run(work())


def test_long_items_do_not_make_long_batches() -> None:
    async def work() -> None:
        worker = Worker()
        batcher = Batcher(worker, lambda item: item, max_length=100, wait=0)
        batcher.start()
        first = await holding(worker, batcher)
        others = asyncio.create_task(batcher.submit([200, 60, 50, 40, 5]))
        await asyncio.sleep(0)
        worker.open.set()
        assert await others == [400, 120, 100, 80, 10]
        await first
        assert worker.batches == [[0], [200], [60], [50, 40, 5]]
        await batcher.close()

    run(work())


def test_items_that_do_not_fit_the_queue_are_refused_together() -> None:
    async def work() -> None:
        worker = Worker()
        batcher = Batcher(worker, lambda item: item, wait=0, capacity=3)
        batcher.start()
        first = await holding(worker, batcher)
        waiting = asyncio.create_task(batcher.submit([1, 2]))
        await asyncio.sleep(0)
        with pytest.raises(QueueFullError):
            await batcher.submit([3, 4])
        assert batcher.waiting == 2
        worker.open.set()
        assert (await first, await waiting) == ([0], [2, 4])
        assert await batcher.submit([3, 4]) == [6, 8]
        await batcher.close()

    run(work())


def test_an_item_that_fails_does_not_fail_others() -> None:
    async def work() -> None:
        worker = Worker()
        batcher = Batcher(worker, lambda item: item, batch=4)
        batcher.start()
        results = await asyncio.gather(
            batcher.submit([1]), batcher.submit([13]), batcher.submit([2]), return_exceptions=True
        )
        assert results[0] == [2]
        assert isinstance(results[1], ValueError)
        assert results[2] == [4]
        assert await batcher.submit([5]) == [10]
        await batcher.close()

    run(work())


def test_cancelled_items_are_not_processed() -> None:
    async def work() -> None:
        worker = Worker()
        batcher = Batcher(worker, lambda item: item, wait=0)
        batcher.start()
        first = await holding(worker, batcher)
        given_up = asyncio.create_task(batcher.submit([7]))
        await asyncio.sleep(0)
        given_up.cancel()
        await asyncio.gather(given_up, return_exceptions=True)
        assert batcher.waiting == 0
        worker.open.set()
        await first
        await batcher.close()
        assert worker.batches == [[0]]

    run(work())


def test_closing_finishes_accepted_items_and_accepts_no_more() -> None:
    async def work() -> None:
        worker = Worker()
        batcher = Batcher(worker, lambda item: item, batch=2, wait=0)
        batcher.start()
        first = await holding(worker, batcher)
        waiting = asyncio.create_task(batcher.submit([1, 2, 3]))
        await asyncio.sleep(0)
        closing = asyncio.create_task(batcher.close())
        await asyncio.sleep(0)
        with pytest.raises(ClosedError):
            await batcher.submit([4])
        assert not closing.done()
        worker.open.set()
        await closing
        assert (await first, await waiting) == ([0], [2, 4, 6])

    run(work())


def test_items_of_a_single_caller_do_not_wait_for_others() -> None:
    async def work() -> None:
        batcher = Batcher(Worker(), lambda item: item, wait=60)
        batcher.start()
        assert [await batcher.submit([item]) for item in (1, 2)] == [[2], [4]]
        await batcher.close()

    run(work())


def test_after_concurrent_items_the_next_one_waits_for_others() -> None:
    async def work() -> None:
        worker = Worker()
        batcher = Batcher(worker, lambda item: item, wait=0.5)
        batcher.start()
        clock = asyncio.get_running_loop().time
        await batcher.submit([1, 2])
        began = clock()
        first = asyncio.create_task(batcher.submit([3]))
        for _ in range(10):  # turns of the event loop, which take no time even on a busy machine
            await asyncio.sleep(0)
        assert await batcher.submit([4]) == [8]
        assert await first == [6]
        assert clock() - began >= 0.49
        assert worker.batches == [[1, 2], [3, 4]]
        await batcher.close()

    run(work())
