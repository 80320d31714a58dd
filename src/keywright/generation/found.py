"""The keyphrases of one text: a list that shows well in terminals and notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any, NamedTuple, SupportsIndex

from keywright.generation.keyphrases import Keyphrase

MOST_SHOWN = 20_000  # characters of a text in a notebook
_WIDEST = 50  # characters of a phrase in a terminal
_CHIP = (
    "display:inline-block;margin:2px;padding:1px 8px;border-radius:10px;color:inherit;"
    "background:rgba(66,133,244,.18)"
)
_ABSENT = "display:inline-block;margin:2px;padding:0 7px;border-radius:10px;border:1px dashed gray"
_MARK = "color:inherit;background:rgba(255,193,7,.35);border-radius:3px"
_TEXT = "white-space:pre-wrap;max-height:20em;overflow:auto;margin-top:6px"


class Keyphrases(list[Keyphrase]):
    """The keyphrases of a text, best first. It is a list of `Keyphrase`.

    `text` is what was read, in which the `places` of keyphrases are. `print` shows a line per
    keyphrase; a notebook shows them as chips above the text in which they are marked.

        found = Keywright().generate("Heat pumps in old houses ...")
        print(found)
        [phrase.text for phrase in found]
    """

    def __init__(self, keyphrases: Iterable[Keyphrase] = (), text: str = "") -> None:
        super().__init__(keyphrases)
        self.text = text

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        return Keyphrases, (list(self), self.text)

    def __repr__(self) -> str:
        return f"Keyphrases({', '.join(_brief(phrase) for phrase in self)})"

    def __str__(self) -> str:
        if not self:
            return "no keyphrases"
        width = min(_WIDEST, max(len(phrase.text) for phrase in self))
        return "\n".join(
            f"{_percent(phrase):>4}  {phrase.text:<{width}}  {_where(phrase)}".rstrip()
            for phrase in self
        )

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def _repr_html_(self) -> str:
        chips = "".join(map(_chip, self)) or "no keyphrases"
        return f'<div>{chips}<div style="{_TEXT}">{"".join(_marked(self.text, self))}</div></div>'


class Mark(NamedTuple):
    """A stretch of a text; `phrase` is None between the places of keyphrases."""

    text: str
    phrase: Keyphrase | None


def marks(text: str, keyphrases: Iterable[Keyphrase]) -> Iterator[Mark]:
    """A text in pieces: those of keyphrases and those between them.

    Where keyphrases overlap, the one that begins first is marked, and of two that begin together
    the longer one.
    """
    places = sorted(
        ((place, phrase) for phrase in keyphrases for place in phrase.places),
        key=lambda item: (item[0][0], -item[0][1]),
    )
    at = 0
    for (start, end), phrase in places:
        if start < at:
            continue
        if text[at:start]:
            yield Mark(text[at:start], None)
        yield Mark(text[start:end], phrase)
        at = end
    if text[at:]:
        yield Mark(text[at:], None)


def _marked(text: str, keyphrases: Sequence[Keyphrase]) -> Iterator[str]:
    left = MOST_SHOWN
    for piece, phrase in marks(text, keyphrases):
        if left <= 0:
            yield "…"
            return
        shown = escape(piece[:left])
        left -= len(piece)
        if phrase is None:
            yield shown
        else:
            yield f'<mark style="{_MARK}" title="{escape(_brief(phrase))}">{shown}</mark>'


def _chip(phrase: Keyphrase) -> str:
    style = _CHIP if phrase.present else _ABSENT
    percent = f" <small>{_percent(phrase)}</small>" if phrase.probability is not None else ""
    where = escape(_where(phrase))
    return f'<span style="{style}" title="{where}">{escape(phrase.text)}{percent}</span>'


def _brief(phrase: Keyphrase) -> str:
    return f"{phrase.text} {_percent(phrase)}".rstrip()


def _percent(phrase: Keyphrase) -> str:
    return "" if phrase.probability is None else f"{phrase.probability:.0%}"


def _where(phrase: Keyphrase) -> str:
    return f"{len(phrase.places)} ×" if phrase.present else "absent"
