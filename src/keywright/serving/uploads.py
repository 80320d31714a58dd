"""Uploaded files as documents, each read in its own process, which may fail."""

from __future__ import annotations

import asyncio
import re
import sys
from collections import deque

import msgspec

from keywright.serving.reading import Outcome
from keywright.serving.refusal import RefusalError, retry_later, too_long
from keywright.types import Document

MAX_NAME = 100
# Starting a process costs more than reading most files; two at a time keep a small machine
# responsive.
MAX_PROCESSES = 2
# Most files are read in less time; the others must not keep everybody waiting.
QUICK_SECONDS = 3.0
MAX_SLOW = 2


class Turns:
    """Turns for work; clients that wait take turns, however much each of them has to do."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}  # in the order of their turns

    async def take(self, client: str) -> None:
        if self._free:
            self._free -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give_back()  # it was given just now
            raise

    def give_back(self) -> None:
        while self._waiting:
            client, turns = next(iter(self._waiting.items()))
            del self._waiting[client]
            turn = turns.popleft()
            if turns:
                self._waiting[client] = turns  # behind all others
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


async def _stop(reading: asyncio.Task[Document]) -> None:
    """Cancel a task if it still runs, and wait until its process has ended."""
    if not reading.done():
        reading.cancel()
        await asyncio.wait([reading])


class Uploads:
    """Reads files of at most `characters`; at most `capacity` files are being read or waiting."""

    def __init__(self, capacity: int, characters: int) -> None:
        # -P: a file in the current folder is not imported in place of a library.
        self._command = (sys.executable, "-P", "-m", "keywright.serving.reading")
        self._capacity = capacity
        self._characters = characters
        self._taken = 0
        self._turns = Turns(MAX_PROCESSES)
        self._slow = asyncio.Semaphore(MAX_SLOW)

    async def read(self, content: bytes, name: str, client: str = "") -> Document:
        """The document of a file; waiting files of different clients take turns."""
        if self._taken >= self._capacity:
            raise retry_later(503, "busy", "Too many files are being read; try again soon.", 1)
        self._taken += 1
        try:
            return await self._in_turn(content, safe_name(name), client)
        finally:
            self._taken -= 1

    async def _in_turn(self, content: bytes, name: str, client: str) -> Document:
        """Read a file. One that is slow gives its turn to others, and continues beside them."""
        await self._turns.take(client)
        has_turn, is_slow = True, False
        reading = asyncio.create_task(self._document(content, name))
        try:
            done, _ = await asyncio.wait([reading], timeout=QUICK_SECONDS)
            if not done and not self._slow.locked():
                await self._slow.acquire()
                is_slow, has_turn = True, False
                self._turns.give_back()
            return await reading
        finally:
            await _stop(reading)
            if is_slow:
                self._slow.release()
            if has_turn:
                self._turns.give_back()

    async def _document(self, content: bytes, name: str) -> Document:
        process = await asyncio.create_subprocess_exec(
            *self._command,
            name,
            str(self._characters),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,  # a traceback may quote the text
        )
        try:
            written, _ = await process.communicate(content)
        finally:
            if process.returncode is None:  # the request was cancelled
                process.kill()
                await process.wait()
        if process.returncode != 0:
            raise RefusalError(
                422, "unreadable_file", f"{name}: cannot be read; it is damaged or much too large."
            )
        outcome = msgspec.json.decode(written, type=Outcome)
        if outcome.too_long is not None:
            raise too_long(outcome.too_long, self._characters)
        if outcome.document is None:
            raise RefusalError(422, "unreadable_file", f"{outcome.problem}.")
        return outcome.document


def safe_name(name: str) -> str:
    """The last part of a file name in printable characters; never empty."""
    last = re.split(r"[/\\]", name)[-1]
    last = "".join(char if char.isprintable() else " " for char in last)
    # Leading dashes and dots would look like an option or a folder.
    return " ".join(last.split())[-MAX_NAME:].lstrip("-. ") or "file"
