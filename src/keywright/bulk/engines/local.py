"""Processes of this machine, which needs no cluster. One worker works in this process."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Generator, Sequence
from contextlib import suppress
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from typing import Any, cast

from keywright.bulk.engines import ATTEMPTS, Resources, lost
from keywright.bulk.shard import Made, Shard, Task, make
from keywright.data.parallel import usable_cpus
from keywright.errors import ConfigError


def check(resources: Resources) -> None:
    if resources.address is not None:
        raise ConfigError("--address is that of a cluster; use it with --engine ray or spark")
    if resources.gpus:
        raise ConfigError("--gpus is for --engine ray, which assigns them to its workers")


def run(task: Task, shards: Sequence[Shard], resources: Resources) -> Generator[Made, None, None]:
    workers = resources.workers or max(1, usable_cpus() // resources.cpus)
    if workers == 1:
        return (make(task, shard) for shard in shards)
    return _parallel(task, shards, min(workers, len(shards)))


def _parallel(task: Task, shards: Sequence[Shard], workers: int) -> Generator[Made, None, None]:
    waiting, attempts = deque(shards), Counter[str]()
    busy: dict[Connection, tuple[Any, Shard]] = {}
    free = [_start(task) for _ in range(workers)]
    try:
        while waiting or busy:
            while waiting and free:
                process, connection = free.pop()
                shard = waiting.popleft()
                attempts[shard.name] += 1
                busy[connection] = process, shard
                _send(connection, shard)
            for connection in cast(list[Connection], wait(list(busy))):
                process, shard = busy.pop(connection)
                made = _receive(connection)
                if made is not None:
                    free.append((process, connection))
                    yield made
                    continue
                process.join()
                connection.close()
                free.append(_start(task))
                if attempts[shard.name] < ATTEMPTS:
                    waiting.appendleft(shard)
                else:
                    yield Made(shard.name, problem=lost(shard.name))
    finally:
        for process, connection in [*free, *((p, c) for c, (p, _) in busy.items())]:
            process.kill()
            process.join()
            connection.close()


def _start(task: Task) -> tuple[Any, Connection]:
    """A new process and this end of the pipe to it."""
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_work, args=(task, there), daemon=True)
    process.start()
    there.close()
    return process, here


def _send(connection: Connection, shard: Shard) -> None:
    with suppress(OSError):  # the process is dead; so says the other direction, too
        connection.send(shard)


def _receive(connection: Connection) -> Made | None:
    """What a worker made; None if it died."""
    try:
        return cast(Made, connection.recv())
    except (EOFError, OSError):
        return None


def _work(task: Task, connection: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the main process acts
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            shard = connection.recv()
        except EOFError:
            return
        connection.send(make(task, shard))


def _end_with_parent() -> None:
    """A worker whose parent was killed must not write into a folder that others may use by now."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
