"""Files and folders of this machine, and those at an address such as s3://bucket/folder.

Local files need nothing. Addresses are opened by fsspec; where it lacks the library of a protocol,
by pyarrow, which has its own for S3, Google Cloud Storage and HDFS.
"""

from __future__ import annotations

import glob
import hashlib
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import IO, Any, Protocol, TypeVar, cast
from urllib.parse import urlsplit

from keywright.data import tabular
from keywright.errors import DataError, KeywrightError, MissingExtraError
from keywright.files import atomic_write, exclusive, remove_all_leftovers

SUFFIXES = tuple(kind for kind, module in tabular.KINDS.items() if module != "excel")
_COPY = 1 << 20  # bytes at a time
_PART = ".part"  # the end of a file's name while it is written
_REASON = 200  # characters of what a library says

T = TypeVar("T")


class Folder(Protocol):
    """Where the output goes. Names are those of files in it, some in the folder `.failures`."""

    def lock(self) -> Any:
        """A context in which no other process writes the folder."""

    def names(self, inside: str = "") -> set[str]:
        """The names of the files in the folder, or in a folder in it; none if it is missing."""

    def read(self, name: str) -> bytes | None: ...

    def write(self, name: str, content: bytes | Iterable[bytes]) -> None:
        """The file appears complete or not at all."""

    def remove(self, name: str) -> None: ...

    def remove_leftovers(self) -> None:
        """Remove what killed processes left half-written."""


def is_address(text: str) -> bool:
    return "://" in text


def folder(place: str) -> Folder:
    return _RemoteFolder(place) if is_address(_plain(place)) else _LocalFolder(Path(_plain(place)))


def expand(given: str) -> list[str]:
    """The tables that a file, a folder, a pattern such as `*.csv`, or an address stands for."""
    given = _plain(given)
    found = _expand_address(given) if is_address(given) else _expand_local(given)
    if not found:
        raise DataError(f"no such file, and no tables ({', '.join(SUFFIXES)}) match it", given)
    return found


def absolute(place: str) -> str:
    """A place without links and `..`, to compare it with others."""
    place = _plain(place)
    return place.rstrip("/") if is_address(place) else str(Path(place).resolve())


def size(path: str) -> int:
    """The number of bytes of a file."""
    if is_address(path):
        return int(_reached(path, lambda fs, inside: fs.size(inside)))
    try:
        return Path(path).stat().st_size
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", path) from None


@contextmanager
def local_file(path: str, *, fresh: bool = False) -> Iterator[Path]:
    """The file itself, or a copy of the file at an address; errors name the address.

    A copy is used again for the next shards, unless it has to be `fresh`.
    """
    place = _copy(path, fresh) if is_address(path) else Path(path)
    try:
        yield place
    except DataError as error:
        raise DataError(str(error).replace(str(place), path)) from None


def _plain(text: str) -> str:
    """The path of a file:// address, because local files are read without fsspec."""
    return urlsplit(text).path if text.startswith("file://") else text


def _expand_local(given: str) -> list[str]:
    path = Path(given)
    try:
        if path.is_dir():
            return [str(file) for file in sorted(path.rglob("*")) if _is_input(file, path)]
        if path.exists():
            return [given]
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", given) from None
    found = glob.glob(given, recursive=True)  # noqa: PTH207, a pattern may be absolute
    return [name for name in sorted(found) if Path(name).is_file()]


def _is_input(file: Path, folder: Path) -> bool:
    hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
    return tabular.suffix(file) in SUFFIXES and not hidden and file.is_file()


def _expand_address(given: str) -> list[str]:
    def found(fs: Any, inside: str) -> list[str]:
        if glob.has_magic(inside):
            names = fs.glob(inside)
        elif fs.isdir(inside):
            names = [
                name
                for name in fs.find(inside)
                if tabular.suffix(name) in SUFFIXES and not name.rpartition("/")[2].startswith(".")
            ]
        else:
            names = [inside] if fs.exists(inside) else []
        scheme = given.partition("://")[0]
        return [f"{scheme}://{str(name).lstrip('/')}" for name in sorted(names)]

    return _reached(given, found)


def _reached(address: str, use: Callable[[Any, str], T]) -> T:
    """What `use` finds with the file system of an address and the path in it."""
    fs, inside = _file_system(address)
    try:
        return use(fs, inside)
    except KeywrightError:
        raise
    except FileNotFoundError:
        raise DataError("no such file or folder", address) from None
    except Exception as error:  # every protocol has errors of its own
        raise DataError(f"cannot be reached: {_reason(error)}", address) from None


def _file_system(address: str) -> tuple[Any, str]:
    try:
        import fsspec
    except ModuleNotFoundError:
        raise MissingExtraError(f"{address}: an address", "fsspec", "bulk") from None
    try:
        fs, inside = fsspec.core.url_to_fs(address)
    except ImportError as error:
        return _arrow_file_system(address, error)
    except Exception as error:
        raise DataError(f"cannot be reached: {_reason(error)}", address) from None
    return fs, inside


def _arrow_file_system(address: str, missing: ImportError) -> tuple[Any, str]:
    try:
        from fsspec.implementations.arrow import ArrowFSWrapper
        from pyarrow.fs import FileSystem

        fs, inside = FileSystem.from_uri(address)
        return ArrowFSWrapper(fs), inside
    except Exception:  # pyarrow does not know the protocol either, or is not installed
        raise DataError(f"cannot be reached: {_reason(missing)}", address) from None


def _reason(error: BaseException) -> str:
    return " ".join(str(error).split())[:_REASON] or type(error).__name__


@cache
def _copies() -> tempfile.TemporaryDirectory[str]:
    """A folder for copies, removed when the process ends."""
    return tempfile.TemporaryDirectory(prefix="keywright-bulk-")


def _copy(address: str, fresh: bool) -> Path:
    """A copy of the file at an address. Only the last one is kept: shards come in their order."""
    folder = Path(_copies().name)
    key = hashlib.sha256(address.encode()).hexdigest()[:16]
    place = folder / f"{key}-{address.rpartition('/')[2][-100:]}"
    if place.exists() and not fresh:
        return place
    for other in folder.iterdir():
        other.unlink()

    def download(fs: Any, inside: str) -> None:
        with fs.open(inside, "rb") as source, atomic_write(place, "wb") as file:
            shutil.copyfileobj(source, cast(IO[bytes], file), _COPY)

    _reached(address, download)
    return place


class _LocalFolder:
    def __init__(self, path: Path) -> None:
        self._path = path

    def lock(self) -> Any:
        return exclusive(self._path)

    def names(self, inside: str = "") -> set[str]:
        try:
            return {entry.name for entry in (self._path / inside).iterdir()}
        except FileNotFoundError:
            return set()
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror}", self._path / inside) from None

    def read(self, name: str) -> bytes | None:
        try:
            return (self._path / name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror}", self._path / name) from None

    def write(self, name: str, content: bytes | Iterable[bytes]) -> None:
        place = self._path / name
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(f"cannot be created: {error.strerror}", place.parent) from None
        with atomic_write(place, "wb") as file:
            for piece in [content] if isinstance(content, bytes) else content:
                cast(IO[bytes], file).write(piece)

    def remove(self, name: str) -> None:
        (self._path / name).unlink(missing_ok=True)

    def remove_leftovers(self) -> None:
        remove_all_leftovers(self._path)
        remove_all_leftovers(self._path / ".failures")


class _RemoteFolder:
    """A folder at an address. Object stores have no locks: that one process writes is up to you."""

    def __init__(self, address: str) -> None:
        self._address = address.rstrip("/")

    def lock(self) -> Any:
        return nullcontext()

    def names(self, inside: str = "") -> set[str]:
        def found(fs: Any, path: str) -> set[str]:
            fs.invalidate_cache()
            listed = fs.ls(path, detail=False) if fs.isdir(path) else []
            return {str(name).rstrip("/").rpartition("/")[2] for name in listed}

        return _reached(f"{self._address}/{inside}".rstrip("/"), found)

    def read(self, name: str) -> bytes | None:
        def content(fs: Any, path: str) -> bytes | None:
            return cast(bytes, fs.cat_file(path)) if fs.exists(path) else None

        return _reached(f"{self._address}/{name}", content)

    def write(self, name: str, content: bytes | Iterable[bytes]) -> None:
        def save(fs: Any, path: str) -> None:
            parent, _, last = path.rpartition("/")
            fs.makedirs(parent, exist_ok=True)
            # Random, because a worker that is taken for lost may still write the same shard.
            draft = f"{parent}/.{last}.{secrets.token_hex(4)}{_PART}"
            with fs.open(draft, "wb") as file:
                for piece in [content] if isinstance(content, bytes) else content:
                    file.write(piece)
            fs.mv(draft, path)

        _reached(f"{self._address}/{name}", save)

    def remove(self, name: str) -> None:
        def drop(fs: Any, path: str) -> None:
            if fs.exists(path):
                fs.rm_file(path)

        _reached(f"{self._address}/{name}", drop)

    def remove_leftovers(self) -> None:
        for inside in ("", ".failures"):
            for name in self.names(inside):
                if name.startswith(".") and name.endswith(_PART):
                    self.remove(f"{inside}/{name}".lstrip("/"))
