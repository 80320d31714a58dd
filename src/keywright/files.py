"""Reading and writing files safely: compression by content, errors by line, writes that are whole.

Nothing here knows what the lines mean; `data/readers` does.
"""

from __future__ import annotations

import gzip
import io
import lzma
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, cast

import zstandard

from keywright.errors import DataError

_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
_BROKEN = (EOFError, OSError, lzma.LZMAError, zlib.error, zstandard.ZstdError)


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
        head = raw.read(6)
        raw.seek(0)
        kind = next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)
        if kind == "gzip":
            yield cast(BinaryIO, gzip.GzipFile(fileobj=raw))
        elif kind == "xz":
            yield cast(BinaryIO, lzma.LZMAFile(raw))
        elif kind == "zstd":
            yield cast(
                BinaryIO,
                io.BufferedReader(
                    zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
                ),
            )
        else:
            yield raw


def read_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """Numbered lines (from 1) without their line end, streamed.

    Only `\\n` (and `\\r\\n`) ends a line: the Unicode separators that `str.splitlines` honours do
    occur inside abstracts. A byte order mark is dropped; bytes that are not UTF-8, a NUL byte and
    a compressed file cut short are errors that name the line.
    """
    number = 0
    with open_binary(path) as file:
        lines = iter(file)
        while True:
            try:
                line = next(lines, None)
            except _BROKEN as error:
                raise DataError(
                    f"the compressed file is truncated or damaged ({error}); fetch it again",
                    path,
                    number + 1,
                ) from None
            if line is None:
                return
            number += 1
            if number == 1 and line.startswith(b"\xef\xbb\xbf"):
                line = line[3:]
            if b"\x00" in line:
                raise DataError("is a binary file, not text (NUL byte)", path, number)
            try:
                text = line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise DataError(
                    f"is not UTF-8 (byte 0x{line[error.start]:02x} at column {error.start + 1}); "
                    "convert it, for example with: iconv -f latin1 -t utf-8",
                    path,
                    number,
                ) from None
            yield number, text.removesuffix("\n").removesuffix("\r")


@contextmanager
def atomic_write(path: str | Path, mode: str = "w") -> Iterator[IO[str] | IO[bytes]]:
    """Write a file that appears whole or not at all: a temporary file beside it, then a rename.

    Text is UTF-8 with `\\n`; `.gz`, `.xz` and `.zst` names are compressed.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
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
        temporary.replace(path)
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
