"""The manifest of a model folder: read, and compared with the files that it describes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from keywright.errors import DataError
from keywright.files import NOT_JSON, sha256

T = TypeVar("T", bound=msgspec.Struct)


class _Version(msgspec.Struct):
    format: int


def decode(path: Path, kind: type[T], current: int, noun: str, remedy: str) -> T:
    """The manifest in a file; errors call its folder a `noun`, and say what to do."""
    try:
        version = msgspec.json.decode(path.read_bytes(), type=_Version)
        if version.format != current:
            raise DataError(
                f"has format {version.format}, but this version of keywright reads format "
                f"{current}; {remedy}",
                path,
            )
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except NOT_JSON as error:
        raise DataError(f"does not describe {noun}: {error}", path) from None


def check_files(
    manifest: Path, names: Iterable[str], digests: Mapping[str, str], remedy: str
) -> None:
    """An error unless the files beside a manifest are there and are those that it describes."""
    for name in names:
        file = manifest.parent / name
        if not file.is_file():
            raise DataError(f"is missing: the model is incomplete; {remedy}", file)
        if sha256(file) != digests.get(name):
            raise DataError(f"is not the file that {manifest.name} describes", file)
