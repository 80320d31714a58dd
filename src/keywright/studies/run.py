"""Run the steps of a plan: those that are missing, side by side, each in a process of its own.

A finished step leaves a record `steps/KEY.json`. Processes of steps are told to stop when this one
ends, however it ends, and hold its lock until they have written their checkpoints: a study that was
killed can be started again at once.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, BinaryIO, Literal, cast

import msgspec

from keywright.errors import DataError, KeywrightError
from keywright.files import NOT_JSON, atomic_write
from keywright.studies.plan import STEPS, Plan, Step, ordered

LOCK, LOGS = ".lock", "logs"
POLL = 0.1  # seconds
PATIENCE = 120.0  # seconds that the processes of a killed study have to write their checkpoints
LAST_LINES = 3

Event = Literal["found", "started", "finished", "failed", "running"]
Watch = Callable[[Event, Step, float], None]
"""Told what happens to a step, and after how many seconds."""


class Record(msgspec.Struct, frozen=True):
    """What is known of a finished step."""

    name: str
    seconds: float
    work: float
    model: str
    kind: str = ""


class StepError(KeywrightError):
    """A step that failed."""


class InterruptedStudyError(Exception):
    """The study was stopped by a signal; its steps have written their checkpoints."""

    def __init__(self, number: int):
        super().__init__(number)
        self.number = number


@dataclass
class _Process:
    step: Step
    process: subprocess.Popen[bytes]
    began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began


def record_of(plan: Plan, step: Step) -> Record | None:
    """The record of a step that is finished and whose output is still there."""
    path = plan.folder / STEPS / f"{step.key}.json"
    if not path.is_file() or not step.output.exists():
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=Record)
    except NOT_JSON as error:
        raise DataError(f"is damaged ({error}); remove it to repeat the step", path) from None


def run(plan: Plan, jobs: int, watch: Watch) -> None:
    """Run every step that is not finished, up to `jobs` at a time."""
    waiting = []
    for step in ordered(plan.steps):
        found = record_of(plan, step)
        if found is None:
            waiting.append(step)
        else:
            watch("found", step, found.seconds)
    if waiting:
        with _locked(plan.folder) as lock, _signals() as stopped:
            _Scheduler(plan, jobs, watch, lock, stopped).run(waiting)


class _Scheduler:
    def __init__(
        self, plan: Plan, jobs: int, watch: Watch, lock: BinaryIO, stopped: Callable[[], int | None]
    ):
        self.plan = plan
        self.jobs = jobs
        self.watch = watch
        self.lock = lock
        self.stopped = stopped
        self.running: list[_Process] = []
        self.failure: StepError | None = None

    def run(self, waiting: list[Step]) -> None:
        try:
            while self.running or (waiting and self.failure is None):
                self._check()
                if self.failure is None:
                    self._start(waiting)
                time.sleep(POLL)
                self._collect()
            self._check()
            if self.failure is not None:
                raise self.failure
        finally:
            self._stop()

    def _check(self) -> None:
        number = self.stopped()
        if number is not None:
            self._stop()
            raise InterruptedStudyError(number)

    def _start(self, waiting: list[Step]) -> None:
        unfinished = {step.key for step in waiting} | {r.step.key for r in self.running}
        for step in [s for s in waiting if not unfinished & set(s.needs)]:
            if len(self.running) == self.jobs:
                return
            waiting.remove(step)
            self.watch("started", step, 0.0)
            self.running.append(_Process(step, self._process(step)))

    def _process(self, step: Step) -> subprocess.Popen[bytes]:
        log = self.plan.folder / LOGS / f"{step.key}.log"
        log.parent.mkdir(exist_ok=True)
        threads = max(1, (os.cpu_count() or 1) // self.jobs)
        with log.open("ab") as file:
            return subprocess.Popen(
                [sys.executable, "-m", "keywright", *step.command],
                env={"OMP_NUM_THREADS": str(threads), **os.environ},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                pass_fds=(self.lock.fileno(),),
                preexec_fn=_end_with_parent,
            )

    def _collect(self) -> None:
        for running in list(self.running):
            code = running.process.poll()
            if code is None:
                self.watch("running", running.step, running.seconds)
                continue
            self.running.remove(running)
            if code == 0:
                self._record(running)
                self.watch("finished", running.step, running.seconds)
            else:
                self.watch("failed", running.step, running.seconds)
                self.failure = self.failure or self._failed(running.step, code)

    def _record(self, running: _Process) -> None:
        step = running.step
        before = self.plan.folder / STEPS / f"{step.key}.json"
        before.parent.mkdir(exist_ok=True)
        made = Record(step.name, running.seconds, step.work, step.model, step.kind)
        with atomic_write(before) as file:
            cast(IO[str], file).write(msgspec.json.encode(made).decode())

    def _failed(self, step: Step, code: int) -> StepError:
        log = self.plan.folder / LOGS / f"{step.key}.log"
        last = log.read_text("utf-8", errors="replace").strip().splitlines()[-LAST_LINES:]
        said = " ".join(line.strip() for line in last) or f"exit code {code}"
        return StepError(f"{step.name} failed: {said.removeprefix('keywright: error: ')} ({log})")

    def _stop(self) -> None:
        """Let the running steps write their checkpoints."""
        for running in self.running:
            running.process.send_signal(signal.SIGINT)
        for running in self.running:
            running.process.wait()
        self.running.clear()


def _end_with_parent() -> None:
    """In the process of a step: stop, with a checkpoint, when the study is killed (Linux)."""
    if sys.platform == "linux":
        import ctypes

        set_death_signal = 1
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGTERM)


@contextmanager
def _signals() -> Iterator[Callable[[], int | None]]:
    """Ctrl-C and SIGTERM are noted, and the study stops at the next opportunity."""
    seen: list[int] = []
    before = {
        number: signal.signal(number, lambda got, _: seen.append(got))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield lambda: seen[0] if seen else None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _locked(folder: Path) -> Iterator[BinaryIO]:
    """The lock of a study, which the processes of its steps inherit."""
    with (folder / LOCK).open("wb") as file:
        end = time.monotonic() + PATIENCE
        while not _try_lock(file):
            if time.monotonic() > end:
                raise DataError("another process is running this study; wait for it", folder)
            time.sleep(POLL)
        yield file


def _try_lock(file: BinaryIO) -> bool:
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


Rate = Callable[[Step], float]
"""Documents (or pairs) per second of a step that nothing alike was measured for."""


def estimates(plan: Plan, steps: Sequence[Step], default: Rate) -> dict[str, float]:
    """About how long steps take, by key: as fast as finished ones of the same model and kind, else
    as `default` says."""
    records = [record for step in plan.steps if (record := record_of(plan, step)) is not None]
    found = {}
    for step in steps:
        alike = [r for r in records if (r.model, r.kind) == (step.model, step.kind)]
        work = sum(r.work for r in alike)
        rate = work / sum(r.seconds for r in alike) if work else default(step)
        found[step.key] = step.work / rate
    return found


def duration(steps: Sequence[Step], seconds: Mapping[str, float], jobs: int) -> float:
    """How long steps take side by side, each started as soon as it can be, as `run` does it."""
    waiting = ordered(steps)
    unfinished = {step.key for step in waiting}
    running: list[tuple[float, str]] = []
    now = 0.0
    while waiting or running:
        ready = [step for step in waiting if not unfinished & set(step.needs)]
        for step in ready[: jobs - len(running)]:
            waiting.remove(step)
            running.append((now + seconds[step.key], step.key))
        now, done = min(running)
        running.remove((now, done))
        unfinished.remove(done)
    return now
