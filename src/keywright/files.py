"""Safe reading and writing: compression is recognised by content, errors name the line, and files
are written completely or not at all.

The meaning of the lines is left to `data/readers`.
"""

from __future__ import annotations

import glob
import gzip
import hashlib
import io
import lzma
import os
import re
import secrets
import shutil
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO, NoReturn, cast

import msgspec
import zstandard

from keywright.errors import DataError

NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding raises for bytes of unknown origin: not JSON, not UTF-8, nested too deeply."""

_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
_BROKEN = (EOFError, OSError, lzma.LZMAError, zlib.error, zstandard.ZstdError)
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_CHUNK = 1 << 16
_DRAFT = re.compile("[0-9a-f]{8}")  # see `draft_of`

Bad = Callable[[DataError], None]
"""Called with the error of a bad line: it raises (`fail`), or returns to continue with the next."""


def fail(error: DataError) -> NoReturn:
    raise error


@contextmanager
def open_binary(path: str | Path) -> Iterator[BinaryIO]:
    """The decompressed bytes of a plain, gzip, xz or zstd file, recognised by its first bytes."""
    path = Path(path)
    try:
        if path.is_dir():
            raise DataError("is a folder, not a file", path)
        raw = path.open("rb")
    except FileNotFoundError:
        raise DataError("no such file", path) from None
    except OSError as error:
        raise DataError(f"cannot be opened: {error.strerror}", path) from None
    with raw:
        try:
            head = raw.peek(6)  # not read and seek, which a pipe does not support
        except OSError as error:  # such as /proc/self/mem
            raise DataError(f"cannot be read: {error.strerror}", path) from None
        kind = next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)
        if kind == "gzip":
            yield cast(BinaryIO, gzip.GzipFile(fileobj=raw))
        elif kind == "xz":
            yield cast(BinaryIO, lzma.LZMAFile(raw))  # noqa: SIM115, closed with `raw`
        elif kind == "zstd":
            yield cast(BinaryIO, io.BufferedReader(_ZstdReader(raw), _CHUNK))
        else:
            yield raw


class _ZstdReader(io.RawIOBase):
    """The content of zstd frames; unlike the library's reader, it detects a truncated file."""

    def __init__(self, raw: BinaryIO):
        self._raw = raw
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        while not self._ready:
            if self._frame.eof:
                chunk = self._frame.unused_data or self._raw.read(_CHUNK)
                if not chunk:
                    return 0
                self._frame = zstandard.ZstdDecompressor().decompressobj()
            else:
                chunk = self._raw.read(_CHUNK)
                if not chunk:
                    raise EOFError("the last zstd frame is not complete")
            self._ready = memoryview(self._frame.decompress(chunk))
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count


def read_lines(path: str | Path, bad: Bad = fail) -> Iterator[tuple[int, str]]:
    """Numbered lines (from 1) without their line end, streamed.

    Only `\\n` and `\\r\\n` end a line, because the Unicode separators that `str.splitlines` also
    accepts occur in abstracts. A byte order mark is dropped; bytes that are not UTF-8, NUL bytes
    and a truncated compressed file are errors that name the line. If `bad` returns, reading
    continues with the next line.
    """
    number = 0
    with open_binary(path) as file:
        lines = iter(file)
        while True:
            try:
                line = next(lines, None)
            except _BROKEN as error:
                bad(_damaged(error, path, number + 1))
                return
            if line is None:
                return
            number += 1
            if number == 1:
                line = line.removeprefix(_BYTE_ORDER_MARK)
            if b"\x00" in line:
                bad(
                    DataError("is a binary file or UTF-16, not UTF-8 text (NUL byte)", path, number)
                )
                continue
            try:
                text = line.decode("utf-8")
            except UnicodeDecodeError as error:
                bad(_not_utf8(line[error.start], error.start + 1, path, number))
                continue
            yield number, text.removesuffix("\n").removesuffix("\r")


def raw_lines(
    path: str | Path, offset: int = 0, number: int = 0
) -> Iterator[tuple[int, int, bytes]]:
    """Lines as bytes, with their line end: (line number, offset of the line's end, line).

    `offset` counts the decompressed bytes to skip, which have `number` lines. A byte order mark is
    dropped.
    """
    with open_binary(path) as file:
        try:
            _skip(file, offset)
            for line in file:
                offset += len(line)
                number += 1
                yield number, offset, line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line
        except _BROKEN as error:
            raise _damaged(error, path, number + 1) from None


def _skip(file: BinaryIO, offset: int) -> None:
    if file.seekable():
        file.seek(offset)
        return
    while offset > 0 and (skipped := file.read(min(offset, _CHUNK))):
        offset -= len(skipped)


def read_text(path: str | Path) -> str:
    """The content of a small text file, under the same rules as `read_lines`."""
    return "\n".join(line for _, line in read_lines(path))


def read_bytes(path: str | Path, limit: int) -> bytes:
    """The whole of a file that has at most `limit` bytes when it is decompressed."""
    with open_binary(path) as file:
        try:
            content = file.read(limit + 1)
        except _BROKEN as error:
            raise _damaged(error, path, None) from None
    if len(content) > limit:
        raise DataError(f"is larger than {limit:,} bytes", path)
    return content


def sha256(path: Path) -> str:
    """The SHA-256 of a file's bytes, as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def first_lines(path: str | Path, most: int = 8) -> list[str]:
    """The first lines, to recognise the format of a file: a bounded read without errors.

    A byte that is not UTF-8 becomes U+FFFD, and of a damaged file the readable part is returned;
    reading the whole file will report what is wrong with it.
    """
    lines: list[bytes] = []
    left = 64 * _CHUNK
    with open_binary(path) as file, suppress(*_BROKEN):
        # Line by line, because one large read of a truncated file would return nothing.
        while len(lines) < most and left > 0 and (line := file.readline(left)):
            lines.append(line if lines else line.removeprefix(_BYTE_ORDER_MARK))
            left -= len(line)
    texts = [line.decode("utf-8", errors="replace") for line in lines]
    return [text.removesuffix("\n").removesuffix("\r") for text in texts]


def _damaged(error: BaseException, path: str | Path, line: int | None) -> DataError:
    return DataError(
        f"the compressed file is truncated or damaged ({error}); get it again", path, line
    )


def _not_utf8(byte: int, column: int, path: str | Path, line: int) -> DataError:
    return DataError(
        f"is not UTF-8 (byte 0x{byte:02x} at column {column}); "
        "convert it, for example with: iconv -f latin1 -t utf-8",
        path,
        line,
    )


def refuse_device(path: Path) -> None:
    """An error for a device or a pipe, which the rename of a file would replace."""
    if _is_device(path):
        raise DataError("cannot be written: is a device or a pipe; name a file", path)


@contextmanager
def exclusive(path: str | Path) -> Iterator[None]:
    """Keep other processes from writing the same file or folder at the same time.

    `.NAME.lock` beside it is locked; the operating system releases the lock of a process however it
    ends. (Windows has no such lock.)
    """
    path = Path(path)
    if sys.platform == "win32" or _is_device(path):
        yield
        return
    place = Path(os.path.realpath(path))
    lock = place.with_name(f".{place.name}.lock")
    with _locked_file(lock, path):
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)


@contextmanager
def _locked_file(lock: Path, path: Path) -> Iterator[None]:
    while True:
        try:
            file = lock.open("wb")
        except OSError as error:
            raise DataError(f"cannot be written: {error.strerror}", path) from None
        with file:
            try:
                _flock(file.fileno())
            except BlockingIOError:
                raise DataError(
                    "another process is writing it; wait for it, or name another place", path
                ) from None
            # Whoever held the lock before may have removed the file after it was opened here.
            if os.fstat(file.fileno()).st_nlink:
                yield
                return


def _is_device(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()


def draft_of(place: Path) -> Path:
    """A new name beside `place` for what becomes it when it is complete.

    It is random: processes of different machines or containers may have the same number.
    """
    return place.with_name(f".{place.name}.{secrets.token_hex(4)}.part")


def remove_leftovers(place: Path) -> None:
    """Remove the drafts of `place` whose processes were killed, on whatever machine.

    A draft is locked while it is written, and the operating system releases the lock of a process
    however it ends.
    """
    for leftover in place.parent.glob(f".{glob.escape(place.name)}.*.part"):
        middle = leftover.name.removeprefix(f".{place.name}.").removesuffix(".part")
        # Anything else is a draft of another file, whose name begins with the same letters.
        if _DRAFT.fullmatch(middle):
            _remove_if_free(leftover)


def remove_all_leftovers(folder: Path) -> None:
    """Remove the drafts of any file in `folder` whose processes were killed."""
    for leftover in folder.glob(".*.part"):
        if _DRAFT.fullmatch(leftover.stem.rpartition(".")[2]):
            _remove_if_free(leftover)


def _remove_if_free(leftover: Path) -> None:
    with suppress(OSError):  # locked, just renamed, in a read-only folder: no reason to fail
        descriptor = os.open(leftover, os.O_RDONLY)
        try:
            _flock(descriptor)
            if leftover.is_dir():
                shutil.rmtree(leftover, ignore_errors=True)
            else:
                leftover.unlink()
        finally:
            os.close(descriptor)


def _flock(descriptor: int) -> None:
    """Lock an open file or folder; `BlockingIOError` if another process has locked it."""
    if sys.platform == "win32":
        raise OSError("Windows has no such lock")
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _hold(descriptor: int, draft: Path) -> bool:
    """Lock a draft of this process; False if another one is removing it as a leftover."""
    try:
        _flock(descriptor)
    except BlockingIOError:
        return False
    except OSError:
        return True  # without locks, nobody removes it
    return draft.exists()


@contextmanager
def draft_folder(place: Path) -> Iterator[Path]:
    """A new folder beside `place`, which is removed in the end unless it was renamed."""
    remove_leftovers(place)
    draft, descriptor = _make_folder(place)
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        if descriptor is not None:
            os.close(descriptor)


def _make_folder(place: Path) -> tuple[Path, int | None]:
    while True:
        draft = draft_of(place)
        draft.mkdir(parents=True)
        if sys.platform == "win32":
            return draft, None  # folders cannot be opened
        descriptor = os.open(draft, os.O_RDONLY)
        if _hold(descriptor, draft):
            return draft, descriptor
        os.close(descriptor)


def _open_draft(place: Path) -> tuple[Path, BinaryIO]:
    while True:
        draft = draft_of(place)
        raw = draft.open("xb")
        if _hold(raw.fileno(), draft):
            return draft, raw
        raw.close()


@contextmanager
def drafted(folder: Path) -> Iterator[Path]:
    """A folder to fill; it becomes `folder` when it is complete."""
    try:
        with draft_folder(folder) as draft:
            yield draft
            draft.rename(folder)  # fails if the folder exists and is not empty
    except OSError as error:
        raise DataError(f"cannot be created: {error.strerror or error}", folder) from None


@contextmanager
def atomic_write(path: str | Path, mode: str = "w") -> Iterator[IO[str] | IO[bytes]]:
    """Write a file that appears complete or not at all: a temporary file next to it is renamed.

    Text is UTF-8 with `\\n`; names in `.gz`, `.xz` and `.zst` are compressed. A symbolic link
    stays, and the file that it points to is replaced.
    """
    path = Path(path)
    refuse_device(path)
    place = Path(os.path.realpath(path))
    remove_leftovers(place)
    try:
        temporary, raw = _open_draft(place)
    except OSError as error:
        raise DataError(f"cannot be written: {error.strerror}", path) from None
    try:
        with raw:
            stream = _compressor(path, raw)
            file: IO[str] | IO[bytes] = (
                stream if "b" in mode else io.TextIOWrapper(stream, encoding="utf-8", newline="\n")
            )
            yield file
            file.flush()
            if stream is not raw:
                file.close()  # writes the trailer; `raw` stays open
            elif "b" not in mode:
                cast(io.TextIOWrapper, file).detach()
            raw.flush()
            os.fsync(raw.fileno())
        temporary.replace(place)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise DataError(f"cannot be written: {error.strerror or error}", path) from None
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _compressor(path: Path, raw: BinaryIO) -> BinaryIO:
    match path.suffix:
        case ".gz":
            return cast(BinaryIO, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0))
        case ".xz":
            return cast(BinaryIO, lzma.LZMAFile(raw, mode="wb"))
        case ".zst":
            return cast(BinaryIO, zstandard.ZstdCompressor().stream_writer(raw, closefd=False))
        case _:
            return raw
