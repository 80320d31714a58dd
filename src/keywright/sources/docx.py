"""Word documents (.docx): the text of paragraphs, tables and notes; the title by its style."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from keywright.errors import DataError
from keywright.sources import text
from keywright.sources._package import Package, local, walk
from keywright.types import Document

_MAIN = "word/document.xml"
_TITLES = ("title", "titel", "titre", "heading1", "berschrift1")
_SKIPPED = frozenset({"del", "delText", "instrText", "Fallback"})  # deleted text, field codes


def recognise(content: bytes, name: str) -> bool:
    return content.startswith(b"PK\x03\x04") and _MAIN.encode() in content


def read(content: bytes, name: str) -> Document:
    package = Package(content, name)
    found = [paragraph for paragraph in _paragraphs(package.xml(_MAIN)) if paragraph[1]]
    if not found:
        raise DataError("has no text; its pages may be pictures", name)
    title = _title(package, found)
    body = [words for _, words in found]
    if not title:
        return text.document("\n".join(body), name)
    if title in body[:5]:
        body.remove(title)
    return Document(id=name, title=title, body="\n".join(body))


def _title(package: Package, paragraphs: list[tuple[str, str]]) -> str:
    """The first paragraph with the style of a title, or the title among the file's properties."""
    for wanted in _TITLES:
        for style, words in paragraphs[:20]:
            if style.lower().replace(" ", "").endswith(wanted):
                return words
    if "docProps/core.xml" not in package.names:
        return ""
    stated = (
        " ".join((element.text or "").split())
        for element in package.xml("docProps/core.xml").iter()
        if local(element.tag) == "title"
    )
    title = next(stated, "")
    return title if title in [words for _, words in paragraphs[:5]] else ""


def _paragraphs(root: Element) -> Iterator[tuple[str, str]]:
    """The style and the text of every paragraph."""
    style, words, skipped = "", [""], 0
    for element, begins in walk(root):
        tag = local(element.tag)
        if tag in _SKIPPED:
            skipped += 1 if begins else -1
        elif tag == "p":
            # The end of a paragraph, or of the text before a paragraph inside it (a text box).
            yield style, " ".join("".join(words).split())
            style, words = "", [""]
        elif skipped or not begins:
            continue
        elif tag == "pStyle":
            style = next((v for k, v in element.attrib.items() if local(k) == "val"), "")
        elif tag == "t":
            words.append(element.text or "")
        elif tag in ("tab", "br", "cr"):
            words.append(" ")
        elif tag == "noBreakHyphen":
            words.append("-")
