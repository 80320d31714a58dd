"""EPUB books: the text of the chapters in reading order; the title that the book states."""

from __future__ import annotations

import posixpath
from urllib.parse import unquote

from keywright.errors import DataError, KeywrightError
from keywright.sources import html
from keywright.sources._package import Package, local
from keywright.types import Document

_CONTAINER = "META-INF/container.xml"
_PAGES = ("application/xhtml+xml", "text/html")


def recognise(content: bytes, name: str) -> bool:
    return content.startswith(b"PK\x03\x04") and b"application/epub+zip" in content[:200]


def read(content: bytes, name: str) -> Document:
    package = Package(content, name)
    if "META-INF/encryption.xml" in package.names and "META-INF/rights.xml" in package.names:
        raise DataError("is protected against copying, so its text cannot be read", name)
    book = _book(package, name)
    root = package.xml(book)
    places: dict[str, str] = {}
    order: list[str] = []
    title = ""
    for element in root.iter():
        match local(element.tag):
            case "item" if element.get("media-type") in _PAGES:
                places[element.get("id", "")] = element.get("href", "")
            case "itemref" if element.get("linear") != "no":
                order.append(element.get("idref", ""))
            case "title" if not title:
                title = " ".join("".join(element.itertext()).split())
    folder = posixpath.dirname(book)
    chapters = []
    for place in dict.fromkeys(places[key] for key in order if key in places):
        part = posixpath.normpath(posixpath.join(folder, unquote(place)))
        chapters.append(_text(package.read(part), name))
    body = "\n".join(filter(None, chapters))
    if not body.strip():
        raise DataError("has no text; its pages may be pictures", name)
    return Document(id=name, title=title, body=body)


def _book(package: Package, name: str) -> str:
    for element in package.xml(_CONTAINER).iter():
        if local(element.tag) == "rootfile" and element.get("full-path"):
            return str(element.get("full-path"))
    raise DataError("is damaged: it does not say where the book is", name)


def _text(page: bytes, name: str) -> str:
    """The text of a page; a cover without any is no error."""
    try:
        return html.read(page, name).text
    except KeywrightError:
        return ""
