"""Keyphrases for many files, in one or several processes, in the order of the files."""

from __future__ import annotations

import signal
import sys
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import NamedTuple, TypeVar

from keywright.errors import ConfigError, KeywrightError
from keywright.generation.job import Job, engine
from keywright.generation.keyphrases import Keyphrase
from keywright.sources import read_source
from keywright.types import Document

# Documents processed together: enough to make batches of similar length.
CHUNK = 128
# Fewer for each worker process, so that all of them are busy until the end.
WORKER_CHUNK = 32

T = TypeVar("T")


class Found(NamedTuple):
    document: Document
    keyphrases: list[Keyphrase]
    warnings: list[str]


class Failed(NamedTuple):
    """An input that cannot be read, and why."""

    message: str


Input = Path | Document | Failed
Outcome = Found | Failed


def outcomes(
    inputs: Iterable[Input], job: Job, jobs: int, chunk: int
) -> Generator[Outcome, None, None]:
    """The outcome of each input, in order; `jobs` processes take `chunk` inputs at a time."""
    if jobs > 1:
        yield from _parallel(_cut(inputs, chunk), job, jobs)
        return
    size = None if engine(job).needs_all else chunk
    for piece in _cut(inputs, size):
        yield from _generate(piece, job)


def chunk_size(inputs: int | None, jobs: int) -> int:
    """How many inputs to process together; `inputs` is their number, None if unknown."""
    if jobs == 1:
        return CHUNK
    return WORKER_CHUNK if inputs is None else max(1, min(WORKER_CHUNK, inputs // (2 * jobs)))


def _generate(inputs: Sequence[Input], job: Job) -> list[Outcome]:
    keywright = engine(job)
    read = [outcome for item in inputs for outcome in _read(item)]
    documents = [item for item in read if isinstance(item, Document)]
    generated = keywright.stream(documents, job.selection)
    return [
        item if isinstance(item, Failed) else Found(item, next(generated), keywright.warnings(item))
        for item in read
    ]


def _read(item: Input) -> list[Document | Failed]:
    if not isinstance(item, Path):
        return [item]
    try:
        return list(read_source(item))
    except KeywrightError as error:
        return [Failed(str(error))]


def _parallel(chunks: Iterable[list[Input]], job: Job, jobs: int) -> Iterator[Outcome]:
    others = set(active_children())
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))
    waiting: deque[Future[list[Outcome]]] = deque()
    try:
        for chunk in chunks:
            with _children_ignore_interrupts():
                waiting.append(pool.submit(_work, chunk, job))
            if len(waiting) >= 2 * jobs:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    except BrokenProcessPool:
        raise KeywrightError(
            "a worker process died, perhaps because memory ran out; try fewer --jobs"
        ) from None
    except BaseException:  # such as Ctrl-C: stop work whose result is not needed
        for process in set(active_children()) - others:
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _work(inputs: list[Input], job: Job) -> list[Outcome]:
    try:
        if engine(job).needs_all:
            raise ConfigError(
                f"{job.model} compares each document with all others, so it cannot run in several "
                "processes; omit --jobs"
            )
        return _generate(inputs, job)
    except KeywrightError as error:  # subclasses have other arguments and cannot be pickled
        raise KeywrightError(str(error)) from None


@contextmanager
def _children_ignore_interrupts() -> Iterator[None]:
    """Ctrl-C reaches all processes of a terminal; only the main one should handle it.

    Processes that are started here inherit what is blocked. An interrupt that arrives meanwhile is
    not lost: it is delivered at the end.
    """
    if sys.platform == "win32":  # where nothing can be blocked
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _cut(values: Iterable[T], size: int | None) -> Iterator[list[T]]:
    values = iter(values)
    while piece := list(islice(values, size)):
        yield piece
