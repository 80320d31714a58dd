"""A file of lines that can be continued after an interruption.

Lines are appended to `NAME.part`, which is renamed to NAME when it is complete. `NAME.part.json`
says what the lines depend on, so that a run with other settings cannot continue them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import IO, Any, cast

import msgspec

from keywright.errors import DataError
from keywright.files import NOT_JSON, atomic_write, exclusive, refuse_device

_CHUNK = 1 << 20
_COMPRESSED = (".gz", ".xz", ".zst")
HASH = "_sha256"  # the end of a key whose value is the hash of something

Finish = Callable[[Path, Path], None]
"""Makes the file at the second path of the lines in the first."""


class Lines:
    """The lines written so far. `append` passes a line on to the operating system."""

    def __init__(self, path: Path, file: FileIO, done: int):
        self._path = path
        self._file = file
        self.done = done

    def append(self, line: bytes) -> None:
        """Write one line, which includes its line end."""
        left = memoryview(line)
        with _reported(self._path):
            while left:  # a disk that is almost full takes only a part
                left = left[self._file.write(left) :]
        self.done += 1


@contextmanager
def resumable_lines(
    path: str | Path,
    origin: Mapping[str, Any],
    *,
    resume: bool = False,
    force: bool = False,
    finish: Finish | None = None,
) -> Iterator[Lines]:
    """Lines to append to; the file appears when the block ends without an error.

    `finish` makes the file of the lines, if it is not just them.

    `resume` continues after the last complete line of an interrupted run with the same `origin`;
    `force` replaces existing files. Names in `.gz`, `.xz` and `.zst` are compressed at the end.
    """
    path = Path(path)
    refuse_device(path)
    with exclusive(path), _appended(path, origin, resume, force, finish or _finish) as lines:
        yield lines


@contextmanager
def _appended(
    path: Path, origin: Mapping[str, Any], resume: bool, force: bool, finish: Finish
) -> Iterator[Lines]:
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
        # Without a buffer, which would try to write the rest of a failed line once more.
        opened = part.open("ab", buffering=0)
    except OSError as error:
        raise DataError(f"cannot be written: {error.strerror}", part) from None
    with opened:
        yield Lines(path, opened, done)
        with _reported(path):
            os.fsync(opened.fileno())
    with _reported(path):
        finish(part, path)
        part.unlink(missing_ok=True)
        note.unlink()


@contextmanager
def _reported(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataError(
            f"cannot be written: {error.strerror}; --resume continues what is done", path
        ) from None


def _check(path: Path, part: Path, resume: bool, force: bool) -> None:
    if resume and force:
        raise DataError("--resume keeps existing lines and --force does not; choose one", path)
    if path.exists() and not force:
        raise DataError("already exists; --force replaces it", path)
    if part.exists() and not (resume or force):
        raise DataError(
            f"an interrupted run left {part.name}; --resume continues it, --force starts again",
            path,
        )


def _require_same(origin: Any, note: Path, part: Path) -> None:
    try:
        before = msgspec.json.decode(note.read_bytes())
    except (OSError, *NOT_JSON):
        raise DataError(
            f"cannot be continued: {note.name}, which holds its settings, is missing or damaged; "
            "--force starts again",
            part,
        ) from None
    for key in sorted(origin.keys() | before.keys()):
        if origin.get(key) != before.get(key):
            raise DataError(
                f"cannot be continued: {_changed(key, before, origin)}; --force starts again", part
            )


def _changed(key: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    if key.endswith(HASH):
        return f"changed since it was begun: {key.removesuffix(HASH)}"
    return f"{key} was {before.get(key)!r} and is {now.get(key)!r} now"


def _whole_lines(part: Path) -> int:
    """The number of complete lines; a last line that was cut is removed."""
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
