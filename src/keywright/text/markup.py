"""What readers of a text do not read: character references, tags, addresses, hyphens at line ends.

Texts from web pages, tables, PDF files and LaTeX are full of these. `readable` is such a text as
people see it, and `original_places` says where a stretch of it is in the text that was given.

Every pattern is bounded, or begins only where another one ends, so that no text takes long.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from html import unescape
from html.entities import html5

from keywright.text.latex import PLAIN_ACCENT, accented

Place = tuple[int, int]

_INLINE = "a|abbr|b|bold|em|font|i|italic|sc|small|span|strong|sub|sup|u"
_BLOCKS = (
    "abstract|blockquote|br|div|h[1-6]|li|list|list-item|ol|p|script|sec|style"
    "|table|td|th|title|tr|ul"
)
_LOWER = "a-zà-öø-ÿ"
_HIDDEN = re.compile(
    r"(?P<reference>&(?:\#[0-9]{1,7}|\#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});)"
    rf"|(?P<inline></?(?:jats:)?(?:{_INLINE})(?:\s[^<>]{{0,2000}})?/?>)"
    rf"|(?P<block></?(?:jats:)?(?:{_BLOCKS})(?:\s[^<>]{{0,2000}})?/?>)"
    r"|(?P<address>\b(?:https?://|(?-i:www\.))[^\s<>\"]+"
    r"|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8})"
    rf"|(?P<hyphen>(?<=(?-i:[{_LOWER}]))-[ \t]?\n[ \t]{{0,20}}(?=(?-i:[{_LOWER}])))"
    r"|(?P<formula>\$(?=[^$\n]{0,200}[\\^_{])[^$\n]{1,300}\$)"
    r"|(?P<citation>\\(?:cite|ref|eqref|label)[a-z*]{0,10}(?:\[[^\]\n]{0,200}\]){0,2}\{[^{}\n]{0,500}\})"
    r"|(?P<font>\\(?:emph|text[a-z]{2})\{)"
    rf"|(?P<accent>{PLAIN_ACCENT})"
    r"|(?P<invisible>[\u00ad\u200b\u2060\ufeff])",
    re.IGNORECASE,
)
# Every match contains one of these; most texts have none of them.
_SIGNS = (
    "\\",
    "$",
    "&",
    "<",
    "://",
    "www.",
    "@",
    "-\n",
    "- \n",
    "-\t\n",
    "\xad",
    "\u200b",
    "\u2060",
    "\ufeff",
)
_HYPHENATED = re.compile(rf"(?<![{_LOWER}])[{_LOWER}]{{1,30}}-[{_LOWER}]{{1,30}}(?![{_LOWER}])")
_WORD_BEFORE = re.compile(rf"[{_LOWER}]{{1,30}}\Z")
_WORD_AFTER = re.compile(rf"[{_LOWER}]{{1,30}}")
# No phrase crosses what stands for an address or the end of a block.
_REPLACED = {
    "inline": "",
    "block": "\n\n",
    "address": ".",
    "formula": "",
    "citation": "",
    "font": "",
    "invisible": "",
}


def readable(text: str) -> str:
    """A text as people see it."""
    pieces, at = [], 0
    for start, end, seen in _replaced(text):
        pieces += [text[at:start], seen]
        at = end
    return "".join([*pieces, text[at:]])


def original_places(text: str) -> Callable[[Place], Place]:
    """Where a stretch of `readable(text)` is in `text`; what was replaced counts as a whole."""
    ends: list[int] = []  # of replacements, in the readable text
    removed = [0]  # characters missing after the first n replacements
    for start, end, seen in _replaced(text):
        removed.append(removed[-1] + end - start - len(seen))
        ends.append(end - removed[-1])

    def original(position: int) -> int:
        return position + removed[bisect_right(ends, position)]

    return lambda place: (original(place[0]), original(place[1]))


def _replaced(text: str) -> Iterator[tuple[int, int, str]]:
    """The stretches [start, end) that readers see otherwise, and how."""
    if not any(sign in text for sign in _SIGNS):
        return
    compounds: frozenset[str] | None = None
    for found in _HIDDEN.finditer(text):
        kind = found.lastgroup or ""
        if kind == "reference":
            seen = _character(found[0])
        elif kind == "accent":
            seen = accented(found[0][1], found[0][2:].strip("{}"))
        elif kind == "hyphen":
            if compounds is None:
                compounds = frozenset(_HYPHENATED.findall(text))
            seen = "-" if _compound(text, found) in compounds else ""
        else:
            seen = _REPLACED[kind]
        yield found.start(), found.end(), seen


def _character(reference: str) -> str:
    name = reference[1:]
    # Without the last test "&notify;" would become "¬ify;".
    return unescape(reference) if name.startswith("#") or name in html5 else reference


def _compound(text: str, hyphen: re.Match[str]) -> str:
    """The word with a hyphen at the end of a line, if it were a compound: "air-source"."""
    before = _WORD_BEFORE.search(text, max(0, hyphen.start() - 30), hyphen.start())
    after = _WORD_AFTER.match(text, hyphen.end())
    return f"{before[0]}-{after[0]}" if before and after else ""
