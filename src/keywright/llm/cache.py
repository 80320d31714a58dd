"""Answers on disk, so that nothing is asked twice: one file per request, named by its digest."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, cast

import msgspec

from keywright.errors import DataError
from keywright.files import atomic_write
from keywright.llm.endpoint import Answer


def default_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "keywright" / "llm"


class Cache:
    """Requests are stored as digests only: the folder contains no texts of documents, no keys."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, url: str, request: Mapping[str, Any]) -> Answer | None:
        try:
            return msgspec.json.decode(self._path(url, request).read_bytes(), type=Answer)
        except FileNotFoundError:
            return None
        except msgspec.DecodeError:
            return None  # damaged: it is asked again, and replaced
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror}", self._folder) from None

    def put(self, url: str, request: Mapping[str, Any], answer: Answer) -> None:
        path = self._path(url, request)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(f"cannot be created: {error.strerror}", path.parent) from None
        with atomic_write(path, "wb") as file:
            cast(IO[bytes], file).write(msgspec.json.encode(answer))

    def _path(self, url: str, request: Mapping[str, Any]) -> Path:
        asked = msgspec.json.encode([url, request], order="deterministic")
        digest = hashlib.sha256(asked).hexdigest()
        return self._folder / digest[:2] / f"{digest}.json"
