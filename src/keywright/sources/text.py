"""Plain text. The first line is the title if it looks like one."""

from __future__ import annotations

import re
import unicodedata

from keywright.errors import DataError
from keywright.text.tokenise import looks_tokenised
from keywright.types import Document

MAX_TITLE = 250
# Control characters except tabs and line ends; some are pasted along with text from terminals.
# Escape sequences such as colours are removed with their letters.
_CONTROL = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def recognise(content: bytes, name: str) -> bool:
    if content.startswith(b"PK\x03\x04"):
        return False  # an archive that is cut off before its first zero
    return b"\x00" not in content or _utf16(content) is not None


def read(content: bytes, name: str) -> Document:
    return document(decode(content, name), name)


def decode(content: bytes, name: str) -> str:
    """The text of a file: UTF-8, or UTF-16 with a byte order mark."""
    encoding = _utf16(content) or "utf-8-sig"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise DataError(
            "is not UTF-8 text; convert it, for example with: iconv -f latin1 -t utf-8", name, line
        ) from None
    return _CONTROL.sub(" ", unicodedata.normalize("NFC", text.replace("\r\n", "\n")))


def _utf16(content: bytes) -> str | None:
    return "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else None


def document(text: str, name: str) -> Document:
    """A document from text whose first line may be its title."""
    first, _, rest = text.strip().partition("\n")
    first, rest = first.strip(), rest.strip()
    if rest and len(first) <= MAX_TITLE and not first.endswith((".", ",", ";", ":", "-")):
        return Document(id=name, title=first, body=rest, tokenised=looks_tokenised(text))
    return Document(id=name, title="", body=text.strip(), tokenised=looks_tokenised(text))
