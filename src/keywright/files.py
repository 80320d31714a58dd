"""Reading and writing files safely: compression by content, errors by line, writes that are whole.

Nothing here knows what the lines mean; `data/readers` does.
"""

from __future__ import annotations

import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO, NoReturn, cast

import zstandard

from keywright.errors import DataError

_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
_BROKEN = (EOFError, OSError, lzma.LZMAError, zlib.error, zstandard.ZstdError)
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_CHUNK = 1 << 16

Bad = Callable[[DataError], None]
"""What to do about a bad line: raise (`fail`), or take note and go on with the next one."""


def fail(error: DataError) -> NoReturn:
    raise error


@contextmanager
def open_binary(path: str | Path) -> Iterator[BinaryIO]:
    """The decompressed bytes of a plain, gzip, xz or zstd file, told apart by their first bytes."""
    path = Path(path)
    if path.is_dir():
        raise DataError("is a folder, not a file", path)
    try:
        raw = path.open("rb")
    except FileNotFoundError:
        raise DataError("no such file", path) from None
    except OSError as error:
        raise DataError(f"cannot be opened: {error.strerror}", path) from None
    with raw:
        head = raw.peek(6)  # and not read and seek: a pipe cannot go back
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
    """The content of zstd frames; unlike the library's reader, it notices a cut-off end."""

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

    Only `\\n` (and `\\r\\n`) ends a line: the Unicode separators that `str.splitlines` honours do
    occur inside abstracts. A byte order mark is dropped; bytes that are not UTF-8, a NUL byte and
    a compressed file cut short are errors that name the line. If `bad` lets an error pass, reading
    goes on with the next line.
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


def read_text(path: str | Path) -> str:
    """The whole of a small text file, under the same rules as `read_lines`."""
    return "\n".join(line for _, line in read_lines(path))


def first_lines(path: str | Path, most: int = 8) -> list[str]:
    """The first lines, for a look at what a file is: a bounded read, and nothing is an error.

    A byte that is not UTF-8 becomes U+FFFD and a damaged file gives what can be read of it; whoever
    reads the file in earnest will say what is wrong with it.
    """
    lines: list[bytes] = []
    left = 64 * _CHUNK
    with open_binary(path) as file, suppress(*_BROKEN):
        # Line by line: one large read of a file cut short would give nothing of what is there.
        while len(lines) < most and left > 0 and (line := file.readline(left)):
            lines.append(line if lines else line.removeprefix(_BYTE_ORDER_MARK))
            left -= len(line)
    texts = [line.decode("utf-8", errors="replace") for line in lines]
    return [text.removesuffix("\n").removesuffix("\r") for text in texts]


def _damaged(error: BaseException, path: str | Path, line: int) -> DataError:
    return DataError(
        f"the compressed file is truncated or damaged ({error}); fetch it again", path, line
    )


def _not_utf8(byte: int, column: int, path: str | Path, line: int) -> DataError:
    return DataError(
        f"is not UTF-8 (byte 0x{byte:02x} at column {column}); "
        "convert it, for example with: iconv -f latin1 -t utf-8",
        path,
        line,
    )


def refuse_device(path: Path) -> None:
    """A device or a pipe is no place for a file: a rename would put the file in its stead."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise DataError("cannot be written: is a device or a pipe; name a file", path)


@contextmanager
def atomic_write(path: str | Path, mode: str = "w") -> Iterator[IO[str] | IO[bytes]]:
    """Write a file that appears whole or not at all: a temporary file beside it, then a rename.

    Text is UTF-8 with `\\n`; `.gz`, `.xz` and `.zst` names are compressed. A link keeps pointing
    where it does.
    """
    path = Path(path)
    refuse_device(path)
    place = Path(os.path.realpath(path))
    temporary = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        raw = temporary.open("wb")
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
                file.close()  # writes the trailer; gzip, xz and zstd leave `raw` open
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
