"""Markdown: the first heading (or the front matter's title) is the title; marks are taken off."""

from __future__ import annotations

import re

from keywright.sources import text
from keywright.types import Document

SUFFIXES = (".md", ".markdown")
_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n(?:---|\.\.\.)\n", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title:\s*['\"]?(.+?)['\"]?\s*$", re.MULTILINE)
_FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(.+?)\s*#*\s*$", re.MULTILINE)
_UNDERLINED = re.compile(r"^(\S.*)\n(?:={3,}|-{3,})\s*$", re.MULTILINE)
_IMAGE = re.compile(r"!\[([^\]]*)\]\([^)]*\)")
_LINK = re.compile(r"\[([^\]]+)\](?:\([^)]*\)|\[[^\]]*\])")
_DEFINITION = re.compile(r"^\s{0,3}\[[^\]]+\]:\s+\S+.*$", re.MULTILINE)
_TAG = re.compile(r"<!--.*?-->|</?[a-zA-Z][^>]*>", re.DOTALL)
_RULE = re.compile(r"^\s{0,3}(?:[-*_]\s*){3,}$|^\s*\|?[\s:|-]+\|[\s:|-]*$", re.MULTILINE)
_LEAD = re.compile(r"^\s*(?:[-*+]|\d+[.)]|>+)\s+", re.MULTILINE)
_EMPHASIS = re.compile(r"(\*\*\*|\*\*|\*|___|__|~~|`+)(?=\S)(.+?)(?<=\S)\1")
_ITALIC = re.compile(r"(?<!\w)_(?=\S)([^_\n]+?)(?<=\S)_(?!\w)")


def recognise(content: bytes, name: str) -> bool:
    return name.lower().endswith(SUFFIXES) and b"\x00" not in content


def read(content: bytes, name: str) -> Document:
    source = text.decode(content, name)
    title = ""
    front = _FRONT_MATTER.match(source)
    if front:
        found = _FRONT_TITLE.search(front[1])
        title = found[1] if found else ""
        source = source[front.end() :]
    source = _FENCE.sub("\n", source)
    heading = _HEADING.search(source) or _UNDERLINED.search(source)
    if heading and not title and not source[: heading.start()].strip():
        title = heading[1]
        source = source[heading.end() :]
    if not title:
        return text.document(plain(source), name)
    return Document(id=name, title=plain(title), body=plain(source))


def plain(source: str) -> str:
    """The words of Markdown without its marks."""
    for pattern, replacement in (
        (_TAG, " "),
        (_IMAGE, r"\1"),
        (_LINK, r"\1"),
        (_DEFINITION, ""),
        (_UNDERLINED, r"\1\n"),
        (_HEADING, r"\1\n"),
        (_RULE, ""),
        (_LEAD, ""),
        (_EMPHASIS, r"\2"),
        (_EMPHASIS, r"\2"),  # bold inside italic
        (_ITALIC, r"\1"),
    ):
        source = pattern.sub(replacement, source)
    source = source.replace("|", " ")
    return re.sub(r"[ \t]+", " ", re.sub(r"\n{3,}", "\n\n", source)).strip()
