"""Zip archives of XML, as docx and EPUB files are: bounded, and without document types.

An archive may claim to be small and unpack to gigabytes, and XML may define entities that grow
without end or name other files. Both are refused before they are read.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from xml.etree import ElementTree

from keywright.errors import DataError

MOST_BYTES = 1 << 25  # of all parts that are read, decompressed: text, not pictures
MOST_PARTS = 10_000
_DOCUMENT_TYPE = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError)


class Package:
    """The parts of an archive."""

    def __init__(self, content: bytes, name: str):
        self._name = name
        self._left = MOST_BYTES
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(content))
        except _DAMAGED as error:
            raise DataError(f"is not a complete archive ({error})", name) from None
        self.names = [entry.filename for entry in self._archive.infolist()]
        if len(self.names) > MOST_PARTS:
            raise DataError(f"has more than {MOST_PARTS:,} parts", name)

    def read(self, part: str) -> bytes:
        """The content of a part."""
        try:
            entry = self._archive.getinfo(part)
            if entry.flag_bits & 1:
                raise DataError("is encrypted; remove its password first", self._name)
            with self._archive.open(entry) as file:
                content = file.read(self._left + 1)
        except KeyError:
            raise DataError(f"is damaged: it lacks {part!r}", self._name) from None
        except _DAMAGED as error:
            raise DataError(f"is damaged: {part!r} cannot be read ({error})", self._name) from None
        self._left -= len(content)
        if self._left < 0:
            raise DataError(
                f"has more than {MOST_BYTES:,} bytes when decompressed; it may be made to exhaust "
                "the memory",
                self._name,
            )
        return content

    def xml(self, part: str) -> ElementTree.Element:
        """The XML of a part."""
        return parse(self.read(part), self._name)


def parse(content: bytes, name: str) -> ElementTree.Element:
    """XML without a document type, and therefore without entities of its own."""
    # In UTF-16 and others the pattern would not be found.
    if content[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\x00" in content[:4]:
        content = _utf8(content, name)
    if _DOCUMENT_TYPE.search(content):
        raise DataError("has a document type or entities, which are not read", name)
    try:
        return ElementTree.fromstring(content)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise DataError(f"has damaged XML ({error})", name) from None


def _utf8(content: bytes, name: str) -> bytes:
    try:
        text = content.decode("utf-16")
    except UnicodeDecodeError as error:
        raise DataError(f"has damaged XML ({error})", name) from None
    return re.sub(r"^\s*<\?xml[^>]*\?>", "", text.lstrip("\ufeff")).encode("utf-8")


def local(tag: object) -> str:
    """The name of a tag without its namespace."""
    return str(tag).rpartition("}")[2]


def walk(root: ElementTree.Element) -> Iterator[tuple[ElementTree.Element, bool]]:
    """Every element twice, when it begins (True) and ends (False), however deep they are nested."""
    stack: list[tuple[ElementTree.Element, bool]] = [(root, True)]
    while stack:
        element, begins = stack.pop()
        yield element, begins
        if begins:
            stack.append((element, False))
            stack.extend((child, True) for child in reversed(element))
