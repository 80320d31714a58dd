"""Faults of disk and memory, one at a time, at the n-th write, fsync, rename or link.

    outcome, events = run(action, at=3, mode="memory")

The disk is full, memory cannot be allocated, or the process is killed. Each
action runs in a forked process, so that a kill is a real one: no `finally`, no flush.
"""

from __future__ import annotations

import errno
import io
import multiprocessing
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Literal

from keywright.errors import KeywrightError

Mode = Literal["error", "memory", "kill"]
DONE, REFUSED, KILLED, FAULT = 0, 2, 137, 70
NO_FAULT = 1 << 60
_open = io.open
_calls = {name: getattr(os, name) for name in ("fsync", "replace", "rename", "link")}


class Disk:
    """Counts events, and lets one of them fail."""

    def __init__(self, at: int, mode: Mode) -> None:
        self.events = 0
        self._at = at
        self._mode = mode

    def event(self) -> None:
        self.events += 1
        if self.events != self._at:
            return
        if self._mode == "kill":
            os._exit(KILLED)
        if self._mode == "memory":
            raise MemoryError
        raise OSError(errno.ENOSPC, "No space left on device")

    def install(self) -> None:
        """Replace what Python offers to write; only in a process that ends afterwards."""
        for name, call in _calls.items():
            setattr(os, name, self._counted(call))
        io.open = self._opened  # type: ignore[assignment]  # `Path.open` calls it

    def _counted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **named: Any) -> Any:
            self.event()
            return call(*arguments, **named)

        return counted

    def _opened(self, file: Any, mode: str = "r", *rest: Any, **named: Any) -> IO[Any]:
        if not set(mode) & set("wax"):
            return _open(file, mode, *rest, **named)
        disk = self

        class Raw(io.FileIO):
            def write(self, data: Any) -> int:
                disk.event()
                return super().write(data)

        raw = Raw(file, mode.replace("b", "").replace("t", ""))
        if (*rest, named.get("buffering"))[0] == 0:
            return raw  # type: ignore[return-value]
        buffered = io.BufferedWriter(raw)
        if "b" in mode:
            return buffered
        text = {name: named.get(name) for name in ("encoding", "errors", "newline")}
        return io.TextIOWrapper(buffered, **text)


def run(action: Callable[[], object], at: int = NO_FAULT, mode: Mode = "error") -> tuple[int, int]:
    """The outcome of an action in another process, and how many events it had (if it ended)."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def work() -> None:
        disk = Disk(at, mode)
        disk.install()
        outcome = FAULT
        try:
            action()
            outcome = DONE
        except (KeywrightError, SystemExit, MemoryError):  # `cli.main` reports the last
            outcome = REFUSED
        except OSError as error:
            outcome = REFUSED if error.errno == errno.ENOSPC else FAULT  # `cli.main` reports it
        except BaseException:
            traceback.print_exc()
        sender.send(disk.events)
        os._exit(outcome)

    process = context.Process(target=work)
    process.start()
    process.join(300)
    events = receiver.recv() if receiver.poll() else 0
    assert process.exitcode is not None, "the action hangs"
    return process.exitcode, events


def leftovers(folder: Path) -> list[str]:
    """Drafts and locks in a folder."""
    return sorted(
        path.name
        for path in folder.iterdir()
        if path.name.startswith(".") and path.suffix in (".part", ".lock")
    )
