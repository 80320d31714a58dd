"""A file of lines that an interrupted run can go on with.

Lines are appended to `NAME.part`, which becomes NAME when all are there. `NAME.part.json` beside it
says what the lines depend on, so that a run under other settings cannot continue them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

import msgspec

from keywright.errors import DataError
from keywright.files import atomic_write, refuse_device

_CHUNK = 1 << 20
_COMPRESSED = (".gz", ".xz", ".zst")


class Lines:
    """The lines of a file so far. A line is on its way to the disk when `append` returns."""

    def __init__(self, path: Path, file: BinaryIO, done: int):
        self._path = path
        self._file = file
        self.done = done

    def append(self, line: bytes) -> None:
        """One line, with its end."""
        try:
            self._file.write(line)
            self._file.flush()
        except OSError as error:
            raise DataError(
                f"cannot be written: {error.strerror}; what is done is kept for --resume",
                self._path,
            ) from None
        self.done += 1


@contextmanager
def resumable_lines(
    path: str | Path, origin: Mapping[str, Any], *, resume: bool = False, force: bool = False
) -> Iterator[Lines]:
    """Lines to append to; the file appears when the block ends without an error.

    `resume` goes on after the last whole line of an interrupted run of the same `origin`; `force`
    replaces what is there. `.gz`, `.xz` and `.zst` names are compressed at the end.
    """
    path = Path(path)
    part = path.with_name(f"{path.name}.part")
    note = path.with_name(f"{path.name}.part.json")
    _check(path, part, resume, force)
    done = 0
    if part.exists() and not force:
        _require_same(msgspec.to_builtins(origin), note, part)
        done = _whole_lines(part)
    else:
        part.unlink(missing_ok=True)
        with atomic_write(note, "wb") as file:
            cast(IO[bytes], file).write(msgspec.json.encode(origin))
    try:
        opened = part.open("ab")
    except OSError as error:
        raise DataError(f"cannot be written: {error.strerror}", part) from None
    with opened:
        yield Lines(path, cast(BinaryIO, opened), done)
        os.fsync(opened.fileno())
    _finish(part, path)
    note.unlink()


def _check(path: Path, part: Path, resume: bool, force: bool) -> None:
    if resume and force:
        raise DataError("--resume keeps what is there and --force does not; choose one", path)
    refuse_device(path)
    if path.exists() and not force:
        raise DataError("exists already; --force replaces it", path)
    if part.exists() and not (resume or force):
        raise DataError(
            f"an interrupted run left {part.name}; --resume goes on with it, --force begins again",
            path,
        )


def _require_same(origin: Any, note: Path, part: Path) -> None:
    try:
        before = msgspec.json.decode(note.read_bytes())
    except (OSError, msgspec.DecodeError):
        raise DataError(
            f"cannot be continued: {note.name}, which says how it was made, is missing or damaged; "
            "--force begins again",
            part,
        ) from None
    for key in sorted(origin.keys() | before.keys()):
        if origin.get(key) != before.get(key):
            raise DataError(
                f"cannot be continued: {key} was {before.get(key)!r} and is {origin.get(key)!r} "
                "now; --force begins again",
                part,
            )


def _whole_lines(part: Path) -> int:
    """How many whole lines there are; a last one that was cut is taken away."""
    lines = end = at = 0
    with part.open("r+b") as file:
        while chunk := file.read(_CHUNK):
            lines += chunk.count(b"\n")
            if (last := chunk.rfind(b"\n")) >= 0:
                end = at + last + 1
            at += len(chunk)
        file.truncate(end)
    return lines


def _finish(part: Path, path: Path) -> None:
    if path.suffix not in _COMPRESSED:
        part.replace(path)
        return
    with part.open("rb") as plain, atomic_write(path, "wb") as file:
        shutil.copyfileobj(plain, cast(IO[bytes], file))
    part.unlink()
