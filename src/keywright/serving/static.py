"""The page's files, read once at start-up: no other file can be requested."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parent / "page"
INDEX = "index.html"
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
}


@dataclass(frozen=True)
class File:
    content: bytes
    kind: str


def read(folder: Path = PAGE) -> Mapping[str, File]:
    """The files of a folder by name; kinds of files that pages do not use are left out."""
    if not folder.is_dir():
        return {}
    return {
        path.name: File(path.read_bytes(), _KINDS[path.suffix])
        for path in sorted(folder.iterdir())
        if path.suffix in _KINDS
    }
