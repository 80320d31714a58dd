"""HTML: the article's text without menus, scripts and styles."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser

from keywright.errors import DataError
from keywright.sources import text
from keywright.types import Document

# Comments are matched atomically: backtracking over many of them would take forever.
_START = re.compile(
    rb"^\s*+(?:<\?xml[^>]*>\s*+)?(?:(?><!--.*?-->)\s*+)*+<(?:!doctype\s+html|html\b)", re.I | re.S
)
_CHARSET = re.compile(rb"<meta[^<>]+charset=[\"']?([\w-]+)", re.IGNORECASE)
_TAG_BEGINS = re.compile(r"<[a-zA-Z/!?]")
_SKIPPED = frozenset(
    {"script", "style", "noscript", "template", "nav", "header", "footer", "aside", "form",
     "button", "select", "svg", "iframe", "figure"}
)  # fmt: skip
_BLOCKS = frozenset(
    {"p", "div", "section", "article", "main", "li", "ul", "ol", "br", "tr", "td", "th", "table",
     "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "dd", "dt", "hr"}
)  # fmt: skip


def recognise(content: bytes, name: str) -> bool:
    return _START.match(content[:4096]) is not None


def read(content: bytes, name: str) -> Document:
    parser = _Text()
    parser.feed(_without_cut_tag(_decode(content, name)))
    parser.close()
    title = _tidy(parser.heading) or _tidy(parser.title)
    body = _tidy("".join(parser.inside_main or parser.words))
    if not body and not title:
        raise DataError("has no text outside scripts and menus", name)
    return Document(id=name, title=title, body=body.removeprefix(title).strip())


def _decode(content: bytes, name: str) -> str:
    declared = _CHARSET.search(content[:4096])
    if declared and declared[1].lower() not in (b"utf-8", b"utf8"):
        try:
            return content.decode(declared[1].decode("ascii"), errors="replace")
        except LookupError:
            pass  # an unknown encoding: UTF-8 is the most likely one
    return text.decode(content, name)


def _without_cut_tag(source: str) -> str:
    """Drop a tag that is cut off at the end of the file, as browsers do.

    Otherwise Python's parser may search for its end from every `<` inside it.
    """
    tags, mark, rest = source.rpartition(">")
    return tags + mark + _TAG_BEGINS.split(rest, maxsplit=1)[0]


def _tidy(words: str) -> str:
    lines = (re.sub(r"\s+", " ", line).strip() for line in words.split("\n"))
    return "\n".join(line for line in lines if line)


class _Text(HTMLParser):
    """Collects the title, the first <h1>, all text, and the text inside <main> or <article>."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self.heading = ""
        self.words: list[str] = []
        self.inside_main: list[str] = []
        self._open: list[str] = []
        self._inside: Counter[str] = Counter()  # how many of each tag are open
        self._had_heading = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in _BLOCKS:
            self._add("\n")
        if tag not in ("br", "hr", "img", "meta", "link", "input", "source", "wbr", "col"):
            self._open.append(tag)
            self._inside[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        if self._inside[tag]:  # also closes the tags left open inside it, as browsers do
            while (closed := self._open.pop()) != tag:
                self._inside[closed] -= 1
            self._inside[tag] -= 1
        if tag == "h1":
            self._had_heading = True
        if tag in _BLOCKS:
            self._add("\n")

    def handle_data(self, data: str) -> None:
        if self._inside["title"] and not self._inside["svg"]:
            self.title += data
            return
        if any(self._inside[tag] for tag in _SKIPPED):
            return
        if self._inside["h1"] and not self._had_heading:
            self.heading += data
        self._add(re.sub(r"\s+", " ", data))

    def _add(self, words: str) -> None:
        self.words.append(words)
        if self._inside["main"] or self._inside["article"]:
            self.inside_main.append(words)
