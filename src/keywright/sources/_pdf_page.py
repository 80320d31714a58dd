"""The lines of a page of a PDF, from the characters and boxes that pdfium gives."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from ctypes import CFUNCTYPE, byref, c_double, c_float, c_int, c_void_p, cast
from itertools import pairwise
from typing import Any, NamedTuple

# Accents that old fonts draw over the next letter -> the accent that combines with it.
_ACCENTS = {
    "´": "\u0301", "`": "\u0300", "¨": "\u0308", "ˆ": "\u0302", "^": "\u0302", "˜": "\u0303",
    "~": "\u0303", "¸": "\u0327", "ˇ": "\u030c", "˚": "\u030a", "¯": "\u0304", "˘": "\u0306",
    "˝": "\u030b", "˙": "\u0307",
}  # fmt: skip
_DOTLESS = {"ı": "i", "ȷ": "j"}
_LIGATURES = {"ﬁ": "fi", "ﬂ": "fl", "ﬀ": "ff", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "ft", "ﬆ": "st"}
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")
_RIGHT_TO_LEFT_RUN = re.compile(f"{_RIGHT_TO_LEFT.pattern}(?:[^\\w]*{_RIGHT_TO_LEFT.pattern})*")
_LEFT_TO_RIGHT_RUN = re.compile(
    r"(?:(?!PATTERN)\w)(?:[^\w]*(?!PATTERN)\w)*".replace("PATTERN", _RIGHT_TO_LEFT.pattern)
)
_MIRRORED = str.maketrans("()[]{}", ")(][}{")
_NEW_SEGMENT = 1.2  # blank between two pieces of a line, in heights of the line
_TOUCHING = 0.6  # less than the blank between columns
_NEW_WORD = 0.2
_USUAL_SIZE = 10.0
_CUT = 12.0  # points beyond the edge of a page
_HYPHEN, _NO_BREAK = 2, 0xA0  # pdfium writes 2 for a hyphen at the end of a line


class Line(NamedTuple):
    """A line of text and its place in points, y growing upwards.

    `base` is where the letters stand, `size` that of the font.
    """

    text: str
    left: float
    right: float
    base: float
    size: float

    @property
    def top(self) -> float:
        return self.base + 0.75 * self.size

    @property
    def bottom(self) -> float:
        return self.base - 0.25 * self.size


class _Character(NamedTuple):
    text: str
    left: float
    right: float
    base: float
    size: float
    after_space: bool
    upright: bool


def page_lines(page: Any) -> list[Line]:
    """The pieces of lines in the order of the file: a wide blank ends a piece, too."""
    lines: list[Line] = []
    piece: list[_Character] = []
    for character in _composed(_once(_characters(page))):
        if piece and not _same_piece(piece[-1], character):
            lines.append(_line(piece))
            piece = []
        piece.append(character)
    if piece:
        lines.append(_line(piece))
    return _mended(lines)


def _mended(lines: Sequence[Line]) -> list[Line]:
    """With pieces that touch put together, if others were drawn between them."""
    rows: dict[int, list[int]] = {}
    for number, line in enumerate(lines):
        rows.setdefault(round(line.base), []).append(number)
    kept: dict[int, Line] = dict(enumerate(lines))
    for row in rows.values():
        row.sort(key=lambda number: lines[number].left)
        for last, number in pairwise(row):
            one, other = kept[last], lines[number]
            gap = other.left - one.right
            if -0.3 * one.size < gap < _TOUCHING * min(one.size, other.size):
                blank = " " if gap > _NEW_WORD * one.size else ""
                size = max(one, other, key=lambda line: len(line.text)).size
                del kept[last]
                kept[number] = Line(
                    one.text + blank + other.text, one.left, other.right, one.base, size
                )
    return list(kept.values())


def _characters(page: Any) -> Iterator[_Character]:
    """Every character that is not blank."""
    from pypdfium2 import raw

    text = page.get_textpage()
    handle = text.raw
    turned = page.get_rotation() // 90
    left_edge, bottom_edge, right_edge, top_edge = _seen(page)
    box, x, y = raw.FS_RECTF(), c_double(), c_double()
    to_box, to_x, to_y = byref(box), byref(x), byref(y)
    # As an address: making an object of every pointer would take longer than the call.
    owner_of = CFUNCTYPE(c_void_p, raw.FPDF_TEXTPAGE, c_int)(
        cast(raw.FPDFText_GetTextObject, c_void_p).value or 0
    )
    styles: dict[int | None, tuple[float, bool]] = {}
    blank = False
    for index in range(raw.FPDFText_CountChars(handle)):
        code = raw.FPDFText_GetUnicode(handle, index)
        if (code <= 32 and code != _HYPHEN) or code == _NO_BREAK:
            blank = True
            continue
        raw.FPDFText_GetLooseCharBox(handle, index, to_box)
        raw.FPDFText_GetCharOrigin(handle, index, to_x, to_y)
        if not (left_edge <= x.value <= right_edge and bottom_edge <= y.value <= top_edge):
            continue  # hidden beyond the page, as slides do with what appears later
        owner = owner_of(handle, index)
        if owner not in styles:
            styles[owner] = _style(cast(owner, raw.FPDF_PAGEOBJECT), turned)
        size, upright = styles[owner]
        left, right, base = _turned(box, y.value, x.value, turned)
        letter = chr(code) if code < 0xD800 or 0xE000 <= code <= 0x10FFFF else "\ufffd"
        letter = _LIGATURES.get(letter, letter)
        yield _Character(letter, left, right, base, size, blank, upright)
        blank = False
    text.close()


def _seen(page: Any) -> tuple[float, float, float, float]:
    """The page and a little more, so that words which its edge cuts are complete."""
    left, bottom, right, top = page.get_bbox()
    return left - _CUT, bottom - _CUT, right + _CUT, top + _CUT


def _style(owner: Any, turned: int) -> tuple[float, bool]:
    """The size of a run of text on its page, and whether it is not written up or down."""
    from pypdfium2 import raw

    size, matrix = c_float(), raw.FS_MATRIX()
    if not owner or not raw.FPDFTextObj_GetFontSize(owner, byref(size)):
        return _USUAL_SIZE, True
    raw.FPDFPageObj_GetMatrix(owner, byref(matrix))
    along, across = (matrix.a, matrix.b) if turned % 2 == 0 else (matrix.b, matrix.a)
    found = abs(size.value) * math.hypot(matrix.c, matrix.d)
    return (found if 0 < found < math.inf else _USUAL_SIZE), abs(along) >= abs(across)


def _turned(box: Any, y: float, x: float, turned: int) -> tuple[float, float, float]:
    """Left, right and base as they are seen on a page that is turned by quarters of a circle."""
    match turned:
        case 1:
            return box.bottom, box.top, -x
        case 2:
            return -box.right, -box.left, -y
        case 3:
            return -box.top, -box.bottom, x
    return box.left, box.right, y


def _once(characters: Iterator[_Character]) -> Iterator[_Character]:
    """Without characters that are drawn twice in one place, as bold print sometimes is."""
    seen: set[tuple[str, float, int, int]] = set()
    last: _Character | None = None
    for character in characters:
        near = round(max(0.2 * (character.right - character.left), 0.1), 2)
        cell, row = round(character.left / near), round(character.base)
        # Both letters of a ligature have its box.
        ligature = last is not None and (last.left, last.right) == (character.left, character.right)
        last = character
        if (character.text, near, cell, row) in seen and not ligature:
            continue
        seen.update((character.text, near, cell + by, row) for by in (-1, 0, 1))
        yield character


def _composed(characters: Iterator[_Character]) -> Iterator[_Character]:
    """With accents that are drawn over a letter put on it."""
    held: _Character | None = None
    for character in characters:
        made = None if held is None else _accented(held, character)
        if held is not None and made is None:
            yield held
        held = made or character
    if held is not None:
        yield held


def _accented(first: _Character, second: _Character) -> _Character | None:
    """A letter with its accent, whichever is drawn first; None if they do not belong together."""
    accent, letter = (first, second) if first.text in _ACCENTS else (second, first)
    middle = (accent.left + accent.right) / 2
    if accent.text not in _ACCENTS or not letter.left <= middle <= letter.right:
        return None
    base = _DOTLESS.get(letter.text, letter.text)
    made = unicodedata.normalize("NFC", base + _ACCENTS[accent.text])
    return letter._replace(text=made, after_space=first.after_space) if len(made) == 1 else None


def _same_piece(last: _Character, character: _Character) -> bool:
    if last.upright != character.upright:
        return False
    size = max(last.size, character.size)
    if not character.upright:
        return not (character.after_space and abs(character.left - last.left) > size)
    if (last.left, last.right) == (character.left, character.right):
        return True  # both letters of a ligature have its box, which may be wide
    near = abs(last.base - character.base) < 0.5 * size
    return near and -size < character.left - last.right < _NEW_SEGMENT * size


def logical(text: str) -> str:
    """Text that was drawn from left to right, in the order in which it is read.

    pdfium gives Hebrew and Arabic as they stand on the page. Within them, numbers and words of
    other scripts run from left to right.
    """
    if text.isascii() or not _RIGHT_TO_LEFT.search(text):
        return text
    if 2 * len(_RIGHT_TO_LEFT.findall(text)) < sum(map(str.isalpha, text)):
        return _RIGHT_TO_LEFT_RUN.sub(lambda run: run[0][::-1], text)
    return _LEFT_TO_RIGHT_RUN.sub(lambda run: run[0][::-1], text[::-1]).translate(_MIRRORED)


def _line(piece: list[_Character]) -> Line:
    words = [piece[0].text]
    for last, character in pairwise(piece):
        size = min(last.size, character.size)
        gap = character.left - last.right if character.upright else 0.0
        if character.after_space or gap > _NEW_WORD * size:
            words.append(" ")
        words.append(character.text)
    # The most frequent height: an index or a symbol does not change that of a line.
    heights = Counter((character.base, character.size) for character in piece)
    base, size = max(heights, key=lambda height: (heights[height], height[1]))
    return Line(
        logical("".join(words)),
        min(character.left for character in piece),
        max(character.right for character in piece),
        base,
        size,
    )
