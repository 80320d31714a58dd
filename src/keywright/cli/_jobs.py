"""Keyphrases for many files, in this process or in several, in the order of the files."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import islice
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from keywright.errors import ConfigError, KeywrightError
from keywright.generation.engine import Keywright, Wanted
from keywright.generation.keyphrases import Keyphrase
from keywright.generation.vocabulary import Mode
from keywright.sources import read_source
from keywright.types import Document
from keywright.vocabularies.terms import Terms

# Documents taken at once: enough to put those of like length into the same batches.
CHUNK = 128
# Workers take fewer, so that all have something to do until the end.
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


class VocabularyFile(NamedTuple):
    path: Path
    mode: Mode
    language: str
    fuzzy: float | None


@dataclass(frozen=True)
class Job:
    """What to do with every document, in a form that another process understands."""

    model: str
    wanted: Wanted
    threads: int | None = None
    vocabulary: VocabularyFile | None = None
    calibration: Path | None = None


def outcomes(
    inputs: Iterable[Input], job: Job, jobs: int, chunk: int
) -> Generator[Outcome, None, None]:
    """What becomes of each input, in their order, by `jobs` processes that take `chunk` at once."""
    if jobs > 1:
        yield from _parallel(_cut(inputs, chunk), job, jobs)
        return
    at_once = None if _engine(job).needs_all else chunk
    for some in _cut(inputs, at_once):
        yield from _generate(some, job)


def chunk_size(inputs: int | None, jobs: int) -> int:
    """How many inputs to take at once, if it is known how many there are."""
    if jobs == 1:
        return CHUNK
    return WORKER_CHUNK if inputs is None else max(1, min(WORKER_CHUNK, inputs // (2 * jobs)))


def _generate(inputs: Sequence[Input], job: Job) -> list[Outcome]:
    engine = _engine(job)
    read = [outcome for one in inputs for outcome in _read(one)]
    documents = [one for one in read if isinstance(one, Document)]
    generated = engine.generate(iter(documents), job.wanted)
    return [
        one if isinstance(one, Failed) else Found(one, next(generated), engine.warnings(one))
        for one in read
    ]


@cache
def _engine(job: Job) -> Keywright:
    """One model a process, loaded for its first documents."""
    options: dict[str, Any] = {"threads": job.threads, "calibration": job.calibration}
    if job.vocabulary is None:
        return Keywright(job.model, **options)
    return Keywright(
        job.model,
        vocabulary=terms(job.vocabulary),
        vocabulary_mode=job.vocabulary.mode,
        **options,
    )


@cache
def terms(file: VocabularyFile) -> Terms:
    return Terms.load(file.path, language=file.language, fuzzy=file.fuzzy)


def _read(one: Input) -> list[Document | Failed]:
    if not isinstance(one, Path):
        return [one]
    try:
        return list(read_source(one))
    except KeywrightError as error:
        return [Failed(str(error))]


def _parallel(chunks: Iterable[list[Input]], job: Job, jobs: int) -> Iterator[Outcome]:
    others = set(active_children())
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))
    waiting: deque[Future[list[Outcome]]] = deque()
    try:
        for some in chunks:
            with _children_ignore_interrupts():
                waiting.append(pool.submit(_work, some, job))
            if len(waiting) >= 2 * jobs:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    except BrokenProcessPool:
        raise KeywrightError(
            "a worker process has died, perhaps for want of memory; try fewer --jobs"
        ) from None
    except BaseException:  # Ctrl-C above all: nobody wants what is still being worked on
        for process in set(active_children()) - others:
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _work(inputs: list[Input], job: Job) -> list[Outcome]:
    try:
        if _engine(job).needs_all:
            raise ConfigError(
                f"{job.model} compares each document with all others, so processes cannot share "
                "them; leave --jobs out"
            )
        return _generate(inputs, job)
    except KeywrightError as error:  # subclasses take other arguments, and cannot be sent
        raise KeywrightError(str(error)) from None


@contextmanager
def _children_ignore_interrupts() -> Iterator[None]:
    """Ctrl-C reaches all processes of a terminal; only the one that started them should answer."""
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def _cut(values: Iterable[T], size: int | None) -> Iterator[list[T]]:
    values = iter(values)
    while piece := list(islice(values, size)):
        yield piece
