"""A lane for long requests: each is processed in a worker process that can be ended.

A long text can take many seconds, and a thread cannot be stopped. Here it delays only other long
requests, and when nobody waits for its result any more, its process is ended and uses no more CPU.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Generic, TypeVar

from keywright.serving.batcher import ClosedError, QueueFullError

Item = TypeVar("Item")
Result = TypeVar("Result")

Work = Callable[[Sequence[Item]], Sequence[Result]]
NICENESS = 10  # short requests come first when there are too few cores


class WorkerDiedError(Exception):
    """A worker process ended before it had a result, for example because memory ran out."""


class LongLane(Generic[Item, Result]):
    """Calls `work` in `workers` processes; at most `capacity` requests are in it or waiting.

    `work` is pickled once for each process. Processes start when they are needed, and stay. All
    methods run in one event loop.
    """

    def __init__(self, work: Work[Item, Result], *, workers: int, capacity: int) -> None:
        self._work = work
        self._capacity = capacity
        self._taken = 0
        self._turn = asyncio.Semaphore(workers)
        self._idle: list[_Worker[Item, Result]] = []
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="keywright-long")
        self._empty = asyncio.Event()
        self._empty.set()
        self._closed = False

    @property
    def waiting(self) -> int:
        """How many requests are being processed or waiting."""
        return self._taken

    async def submit(self, items: Sequence[Item]) -> list[Result]:
        """The results of all items, in their order. If cancelled, their processing ends."""
        if self._closed:
            raise ClosedError
        if self._taken >= self._capacity:
            raise QueueFullError
        self._taken += 1
        self._empty.clear()
        try:
            async with self._turn:
                return await self._process(items)
        finally:
            self._taken -= 1
            if not self._taken:
                self._empty.set()

    async def close(self) -> None:
        """Accept no more items, finish those that were accepted, and end the processes."""
        self._closed = True
        await self._empty.wait()
        for worker in self._idle:
            worker.close()
        self._threads.shutdown()

    async def _process(self, items: Sequence[Item]) -> list[Result]:
        worker = self._idle.pop() if self._idle else _Worker(self._work)
        asking = asyncio.get_running_loop().run_in_executor(self._threads, worker.ask, items)
        try:
            outcome = await asyncio.shield(asking)
        except BaseException:
            worker.end()
            await asyncio.wait([asking])  # soon: what it waits for has ended
            asking.exception()
            worker.close()
            raise
        self._idle.append(worker)
        if isinstance(outcome, Exception):
            raise outcome
        return list(outcome)


class _Worker(Generic[Item, Result]):
    """A process that answers one question at a time."""

    def __init__(self, work: Work[Item, Result]) -> None:
        spawn = get_context("spawn")  # a forked copy of a process with threads may hang
        self._connection, theirs = spawn.Pipe()
        self._process = spawn.Process(target=_serve, args=(work, theirs), daemon=True)
        self._theirs = theirs
        self._ended = False

    def ask(self, items: Sequence[Item]) -> Sequence[Result] | Exception:
        """The results, or the exception that `work` raised. Runs in a thread."""
        try:
            if self._process.pid is None:
                self._process.start()
                self._theirs.close()
            if self._ended:  # meanwhile, when there was nothing to kill yet
                self._process.kill()
                raise EOFError
            self._connection.send(items)
            answer: Sequence[Result] | Exception = self._connection.recv()
            return answer
        except (EOFError, OSError) as error:
            raise WorkerDiedError from error

    def end(self) -> None:
        self._ended = True
        if self._process.pid is not None:
            self._process.kill()
            self._process.join()

    def close(self) -> None:
        """End the process and forget it; not while `ask` runs."""
        self.end()
        self._connection.close()


def _serve(work: Work[Item, Result], connection: Connection) -> None:
    """Answer questions until the service closes the connection or ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal
    if sys.platform != "win32":
        os.nice(NICENESS)
    while True:
        try:
            items = connection.recv()
        except (EOFError, OSError):
            return
        connection.send(_outcome(work, items))


def _outcome(work: Work[Item, Result], items: Sequence[Item]) -> Sequence[Result] | Exception:
    try:
        results = work(items)
    except Exception as error:
        # Exceptions of libraries need not survive pickling; their text may quote the document.
        return RuntimeError(f"processing failed with {type(error).__name__}")
    if len(results) != len(items):
        return RuntimeError(f"{len(items)} items gave {len(results)} results")
    return results
