"""Uploaded files as documents, each read in a process that may fail."""

from __future__ import annotations

import asyncio
import re
import sys

import msgspec

from keywright.serving.reading import Outcome
from keywright.serving.refusal import RefusalError, come_back, too_long
from keywright.types import Document

LONGEST_NAME = 100
# Starting a process costs more than reading most files; two keep a small machine responsive.
AT_ONCE = 2


class Uploads:
    """Reads files of at most `characters`, a few at a time; `capacity` are read or wait for it."""

    def __init__(self, capacity: int, characters: int) -> None:
        # -P: a file that lies in the current folder is not taken for a library.
        self._command = (sys.executable, "-P", "-m", "keywright.serving.reading")
        self._capacity = capacity
        self._characters = characters
        self._taken = 0
        self._turn = asyncio.Semaphore(AT_ONCE)

    async def read(self, content: bytes, name: str) -> Document:
        if self._taken >= self._capacity:
            raise come_back(503, "busy", "Too many files are being read; try again soon.", 1)
        self._taken += 1
        try:
            async with self._turn:
                return await self._document(content, safe_name(name))
        finally:
            self._taken -= 1

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
            if process.returncode is None:  # the request was given up
                process.kill()
                await process.wait()
        if process.returncode != 0:
            raise RefusalError(
                422, "unreadable_file", f"{name}: cannot be read; it is damaged or far too large."
            )
        outcome = msgspec.json.decode(written, type=Outcome)
        if outcome.too_long is not None:
            raise too_long(outcome.too_long, self._characters)
        if outcome.document is None:
            raise RefusalError(422, "unreadable_file", f"{outcome.problem}.")
        return outcome.document


def safe_name(name: str) -> str:
    """The last part of a file name, in characters that are safe to show, never empty."""
    last = re.split(r"[/\\]", name)[-1]
    last = "".join(char if char.isprintable() else " " for char in last)
    # Leading dashes and dots would look like an option, or like a folder.
    return " ".join(last.split())[-LONGEST_NAME:].lstrip("-. ") or "file"
