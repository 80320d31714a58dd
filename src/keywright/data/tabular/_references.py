"""What the formats of references share: their columns, and keywords that are added to others."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from keywright.errors import DataError
from keywright.files import read_bytes

HEADER = ["id", "title", "abstract", "keywords"]
MOST_BYTES = 1 << 28


def read_text(path: str | Path) -> str:
    """The text of a file, with `\\n` at the end of lines."""
    content = read_bytes(path, MOST_BYTES)
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise DataError(
            "is not UTF-8; convert it, for example with: iconv -f latin1 -t utf-8", path, line
        ) from None


def new_ones(found: Iterable[str], known: Iterable[str]) -> list[str]:
    """The keywords that are not among those a reference has already."""
    seen = {keyword.strip().casefold() for keyword in known}
    return [phrase for phrase in found if phrase.casefold() not in seen]
