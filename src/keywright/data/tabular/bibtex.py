"""BibTeX: the title and the abstract of every entry; keyphrases are added to `keywords`.

A file is written as it was, except for the field that is added or changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, cast

from keywright.data.tabular import Added, Reading, Row
from keywright.data.tabular._references import HEADER, new_ones, read_text
from keywright.errors import DataError
from keywright.files import atomic_write
from keywright.text import latex

_ENTRY = re.compile(r"@[^\S\n]*([A-Za-z]+)\s*([{(])")
_KEY = re.compile(r"\s*([^\s,{}\"#=()]*)\s*,?")
_NAME = re.compile(r"[A-Za-z_][\w:.+/-]*+")
_BLANK = re.compile(r"\s*+")
_BETWEEN = re.compile(r"[\s,]*+")
_BARE = re.compile(r"[^\s,{}\"#()]+")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_QUOTE = re.compile(r"\\.|[{}\"]", re.DOTALL)
_NO_REFERENCE = ("comment", "preamble", "string")
_ACCENT = re.compile(latex.ACCENT)
_LETTERS = {"ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "o": "ø", "O": "Ø", "l": "ł",
            "L": "Ł", "aa": "å", "AA": "Å", "i": "i", "j": "j"}  # fmt: skip
_LETTER = re.compile(r"\\(ss|ae|AE|oe|OE|aa|AA|[oOlLij])(?![A-Za-z])\s*")
_COMMAND = re.compile(r"\\[A-Za-z]+\*?\s*")
_SPECIAL = re.compile(r"([&%$#_])")


@dataclass
class _Entry:
    line: int
    key: str = ""
    values: dict[str, str] = field(default_factory=dict)
    keywords: tuple[int, int] | None = None  # the place of the value
    end: int = 0  # after the last value


def read(path: str | Path) -> Reading:
    return HEADER, _rows(path)


def extend(source: str | Path, output: str | Path, added: Added) -> None:
    text = read_text(source)
    at = 0
    with atomic_write(output) as file:
        write = cast(IO[str], file).write
        for entry, (phrases, _) in zip(_entries(text, source), added.rows, strict=True):
            known = _split(entry.values.get("keywords", ""))
            new = [_SPECIAL.sub(r"\\\1", phrase) for phrase in new_ones(phrases, known)]
            if not new:
                continue
            if entry.keywords is None:
                write(text[at : entry.end] + f",\n  keywords = {{{', '.join(new)}}}")
                at = entry.end
            else:
                start, end = entry.keywords
                old = _value(text[start:end])
                write(text[at:start] + f"{{{', '.join([*filter(None, [old]), *new])}}}")
                at = end
        write(text[at:])


def _split(keywords: str) -> list[str]:
    return [plain(keyword) for keyword in re.split("[,;]", keywords)]


def _rows(path: str | Path) -> Iterator[Row]:
    for entry in _entries(read_text(path), path):
        values = (entry.values.get(name) for name in HEADER[1:])
        yield (
            entry.line,
            [entry.key, *(None if value is None else plain(value) for value in values)],
        )


def _entries(text: str, path: str | Path) -> Iterator[_Entry]:
    at, line, counted = 0, 1, 0
    while found := _ENTRY.search(text, at):
        line += text.count("\n", counted, found.start())
        counted = found.start()
        if found[1].lower() in _NO_REFERENCE:
            at = found.end()
            continue
        try:
            entry = _Entry(line, end=found.end())
            at = _read_entry(text, found.end(), entry)
        except ValueError as error:
            raise DataError(
                f"the entry that begins here is damaged ({error})", path, line
            ) from None
        yield entry


def _read_entry(text: str, at: int, entry: _Entry) -> int:
    key = _KEY.match(text, at)
    if key:
        entry.key, at = key[1], key.end()
        entry.end = key.end(1)
    while found := _field(text, at):
        name, start = found
        at = _end_of_value(text, start)
        entry.values.setdefault(name, _value(text[start:at]))
        entry.end = at
        if name == "keywords":
            entry.keywords = (start, at)
    at = _after(_BETWEEN, text, at)
    if text[at : at + 1] not in ("}", ")"):
        raise ValueError("a brace or a comma is missing")
    return at + 1


def _after(blank: re.Pattern[str], text: str, at: int) -> int:
    """The place after a blank, which may be empty."""
    found = blank.match(text, at)
    return found.end() if found else at


def _field(text: str, at: int) -> tuple[str, int] | None:
    """The name of a field and where its value begins; None if there is no field."""
    name = _NAME.match(text, _after(_BETWEEN, text, at))
    if name is None:
        return None
    at = _after(_BLANK, text, name.end())
    return (name[0].lower(), _after(_BLANK, text, at + 1)) if text.startswith("=", at) else None


def _joined(text: str, at: int) -> int | None:
    """Where the next piece of a value begins; None if there is none."""
    at = _after(_BLANK, text, at)
    return _after(_BLANK, text, at + 1) if text.startswith("#", at) else None


def _end_of_value(text: str, at: int) -> int:
    while True:
        if text.startswith("{", at):
            at = _closed(text, at + 1, _BRACE, "}")
        elif text.startswith('"', at):
            at = _closed(text, at + 1, _QUOTE, '"')
        elif bare := _BARE.match(text, at):
            at = bare.end()
        else:
            raise ValueError("a value is missing")
        more = _joined(text, at)
        if more is None:
            return at
        at = more


def _closed(text: str, at: int, marks: re.Pattern[str], end: str) -> int:
    """The place after a closing mark; braces inside a value come in pairs."""
    depth = 0
    for mark in marks.finditer(text, at):
        if mark[0] == end and depth == 0:
            return mark.end()
        depth += {"{": 1, "}": -1}.get(mark[0], 0)
    raise ValueError(f"{end} is missing")


def _value(source: str) -> str:
    """A value without the braces or quotes around its pieces."""
    pieces, at = [], 0
    while at < len(source):
        end = _end_of_piece(source, at)
        piece = source[at:end]
        pieces.append(piece[1:-1] if piece[:1] in '{"' else piece)
        more = _joined(source, end)
        at = len(source) if more is None else more
    return "".join(pieces)


def _end_of_piece(source: str, at: int) -> int:
    if source[at] == "{":
        return _closed(source, at + 1, _BRACE, "}")
    if source[at] == '"':
        return _closed(source, at + 1, _QUOTE, '"')
    bare = _BARE.match(source, at)
    return bare.end() if bare else len(source)


def plain(value: str) -> str:
    """The text of a value without the commands of LaTeX."""
    value = _ACCENT.sub(lambda match: latex.accented(*match.groups()), " ".join(value.split()))
    value = _LETTER.sub(lambda match: _LETTERS[match[1]], value)
    value = _COMMAND.sub("", value)
    value = re.sub(r"\\([&%$#_{} ])", r"\1", value).replace("---", "—").replace("--", "–")
    return " ".join(re.sub(r"[{}$]", "", value).replace("~", " ").split())
