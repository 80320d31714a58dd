"""Markdown: the title is that of the front matter or the first heading; markup is removed."""

from __future__ import annotations

import re
from collections.abc import Callable

from keywright.sources import text
from keywright.types import Document

SUFFIXES = (".md", ".markdown")
# Every pattern looks ahead a bounded distance: an untrusted file could make it search forever.
_BLANK = r"[^\S\n]"
_TARGET = r"\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)"
_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n(?:---|\.\.\.)\n", re.DOTALL)
_FRONT_TITLE = re.compile(rf"^title:{_BLANK}*(\S.*)$", re.MULTILINE)
_FENCES = ("```", "~~~")
_HEADING = re.compile(rf"^{_BLANK}{{0,3}}#{{1,6}}{_BLANK}+(\S.*)$", re.MULTILINE)
_UNDERLINED = re.compile(rf"^(\S.*)\n(?:={{3,}}|-{{3,}}){_BLANK}*$", re.MULTILINE)
_IMAGE = re.compile(rf"!\[([^\[\]]*)\]{_TARGET}")
_LINK = re.compile(rf"\[([^\[\]]+)\](?:{_TARGET}|\[[^\[\]]*\])")
_DEFINITION = re.compile(rf"^{_BLANK}{{0,3}}\[[^\[\]\n]+\]:{_BLANK}+\S.*$", re.MULTILINE)
_TAG = re.compile(r"<!--(?:(?!<!--).)*?-->|</?[a-zA-Z][^<>]*>", re.DOTALL)
_RULE = re.compile(
    rf"^{_BLANK}{{0,3}}(?:[-*_]{_BLANK}*+){{3,}}$|^(?=[^|\n]*\|)(?:{_BLANK}|[:|-])+$", re.MULTILINE
)
_LEAD = re.compile(rf"^{_BLANK}*(?:[-*+]|\d+[.)]|>+)(?:{_BLANK}+|$)", re.MULTILINE)
_EMPHASIS = re.compile(r"(\*{1,3}|_{2,3}|~~|`{1,3})(?=\S)(.{1,300}?)(?<=\S)\1")
_ITALIC = re.compile(r"(?<!\w)_(?=\S)([^_\n]+?)(?<=\S)_(?!\w)")


def recognise(content: bytes, name: str) -> bool:
    return name.lower().endswith(SUFFIXES) and b"\x00" not in content


def read(content: bytes, name: str) -> Document:
    source = text.decode(content, name)
    title = ""
    front = _FRONT_MATTER.match(source)
    if front:
        found = _FRONT_TITLE.search(front[1])
        title = found[1].strip().strip("'\"") if found else ""
        source = source[front.end() :]
    source = _without_code(source)
    heading = _HEADING.search(source) or _UNDERLINED.search(source)
    if heading and not title and not source[: heading.start()].strip():
        title = _unclosed(heading)
        source = source[heading.end() :]
    if not title:
        return text.document(plain(source), name)
    return Document(id=name, title=plain(title), body=plain(source))


def plain(source: str) -> str:
    """The text of Markdown without its markup."""
    patterns: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
        (_TAG, " "),
        (_IMAGE, r"\1"),
        (_LINK, r"\1"),
        (_DEFINITION, ""),
        (_UNDERLINED, r"\1\n"),
        (_HEADING, lambda heading: _unclosed(heading) + "\n"),
        (_RULE, ""),
        (_LEAD, ""),
        (_EMPHASIS, r"\2"),
        (_EMPHASIS, r"\2"),  # bold inside italic
        (_ITALIC, r"\1"),
    )
    for pattern, replacement in patterns:
        source = pattern.sub(replacement, source)
    source = source.replace("|", " ")
    return re.sub(r"[ \t]+", " ", re.sub(r"\n{3,}", "\n\n", source)).strip()


def _unclosed(heading: re.Match[str]) -> str:
    """The text of a heading, without the closing `#` marks it may have."""
    return heading[1].rstrip().rstrip("#").rstrip()


def _without_code(source: str) -> str:
    """Remove fenced code; a fence that is never closed is kept."""
    lines = source.split("\n")
    last = {line.rstrip(): number for number, line in enumerate(lines)}
    kept: list[str] = []
    fence = ""
    for number, line in enumerate(lines):
        if fence:
            if line.rstrip() == fence:
                fence = ""
        elif line[:3] in _FENCES and last.get(line[:3], 0) > number:
            fence = line[:3]
            kept.append("")
        else:
            kept.append(line)
    return "\n".join(kept)
