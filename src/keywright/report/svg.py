"""Simple SVG drawings: shapes with classes, which the page's style sheet colours."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

# The width of a phone: drawings are rarely scaled down, so their text stays readable.
WIDTH = 340
# Space for the numbers and the name of the vertical axis, and for half the last number below.
LEFT = 44
RIGHT = 14
LEGEND_LINE = 16
# The width of a letter is unknown here; slightly more than usual keeps entries apart.
LETTER = 6.4


class Drawing:
    """A drawing `WIDTH` pixels wide, to which elements are added."""

    def __init__(self, height: float, width: float = WIDTH) -> None:
        self.width, self.height = width, height
        self._elements: list[str] = []

    def rectangle(self, x: float, y: float, width: float, height: float, kind: str) -> None:
        self._add("rect", kind, x=x, y=y, width=max(width, 0.0), height=max(height, 0.0))

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        self._add("line", kind, x1=x1, y1=y1, x2=x2, y2=y2)

    def circle(self, x: float, y: float, radius: float, kind: str) -> None:
        self._add("circle", kind, cx=x, cy=y, r=radius)

    def polyline(self, points: Iterable[tuple[float, float]], kind: str) -> None:
        joined = " ".join(f"{_shown(x)},{_shown(y)}" for x, y in points)
        self._elements.append(f'<polyline class="{kind}" points="{joined}"/>')

    def text(self, x: float, y: float, text: str, kind: str = "") -> None:
        """`kind` may contain `start`, `middle` (the default) or `end`, `small` and `up`."""
        turned = f' transform="rotate(-90 {_shown(x)} {_shown(y)})"' if "up" in kind else ""
        self._elements.append(
            f'<text x="{_shown(x)}" y="{_shown(y)}" class="{kind}"{turned}>{escape(text)}</text>'
        )

    def render(self, name: str, title: str, description: str) -> str:
        """The SVG, with a title and a description for screen readers."""
        return (
            f'<svg viewBox="0 0 {_shown(self.width)} {_shown(self.height)}" role="img" '
            f'aria-labelledby="{name}-title {name}-text">'
            f'<title id="{name}-title">{escape(title)}</title>'
            f'<desc id="{name}-text">{escape(description)}</desc>'
            f"{''.join(self._elements)}</svg>"
        )

    def _add(self, tag: str, kind: str, **places: float) -> None:
        shown = " ".join(f'{name}="{_shown(value)}"' for name, value in places.items())
        self._elements.append(f'<{tag} class="{kind}" {shown}/>')


def standalone(svg: str, style: str) -> str:
    """A drawing as a file of its own, as wide as on the page, with its style inside."""
    opening, rest = svg.split(">", 1)
    size = re.search(r'viewBox="0 0 (\S+) (\S+)"', opening)
    assert size is not None
    sized = f'{opening} xmlns="http://www.w3.org/2000/svg" width="{size[1]}" height="{size[2]}"'
    font = "text { font-family: system-ui, sans-serif; }"
    return f"{sized}><style>{style}{font}</style>{rest}\n"


def _shown(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


@dataclass(frozen=True)
class Scale:
    """From values [low, high] to pixels [start, end]."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        span = (self.high - self.low) or 1.0
        return self.start + (value - self.low) / span * (self.end - self.start)


def ticks(high: float, about: int = 4) -> list[float]:
    """Round values from 0 to `high` or just above."""
    if high <= 0:
        return [0.0, 1.0]
    rough = high / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * times for times in (1, 2, 2.5, 5, 10) if power * times >= rough - 1e-12)
    return [step * i for i in range(math.ceil(high / step - 1e-9) + 1)]


def shown_tick(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:g}"


class Plot:
    """A drawing with a horizontal and a vertical axis."""

    def __init__(
        self,
        x: tuple[float, float],
        y: Sequence[float],
        *,
        height: float = 220,
        labels: tuple[str, str],
        below: float = 0,
        above: float = 8,
        left: float = LEFT,
    ) -> None:
        """`y` are the ticks of the vertical axis; `below` and `above` leave extra space."""
        self.drawing = Drawing(height + below)
        self.bottom = height - 40
        self.x = Scale(*x, left, WIDTH - RIGHT)
        self.y = Scale(y[0], y[-1], self.bottom, above)
        for tick in y:
            level = self.y(tick)
            self.drawing.line(left, level, WIDTH - RIGHT, level, "grid")
            self.drawing.text(left - 5, level + 4, shown_tick(tick), "end small")
        self.drawing.line(left, self.bottom, WIDTH - RIGHT, self.bottom, "axis")
        self.drawing.text((left + WIDTH - RIGHT) / 2, height - 6, labels[0])
        self.drawing.text(11, (self.bottom + above) / 2, labels[1], "up")

    def ticks(self, values: Iterable[tuple[float, str]]) -> None:
        for value, text in values:
            self.drawing.text(self.x(value), self.bottom + 15, text, "small")

    def bar(self, low: float, high: float, value: float, kind: str, inset: float = 0.75) -> None:
        left, right, top = self.x(low) + inset, self.x(high) - inset, self.y(value)
        self.drawing.rectangle(left, top, right - left, self.bottom - top, kind)

    def legend(self, entries: Sequence[tuple[str, str]], y: float) -> None:
        """Entries (kind, text) from left to right, on as many lines as needed."""
        places = legend_places([text for _, text in entries], self.x.start)
        for (kind, text), (x, line) in zip(entries, places, strict=True):
            level = y + LEGEND_LINE * line
            self.drawing.rectangle(x, level - 9, 11, 11, kind)
            self.drawing.text(x + 15, level, text, "start small")


def legend_places(texts: Sequence[str], left: float = LEFT) -> list[tuple[float, int]]:
    """Where each entry of a legend starts, and on which line."""
    places: list[tuple[float, int]] = []
    x, line = left, 0
    for text in texts:
        width = 15 + LETTER * len(text)
        if x > left and x + width > WIDTH:
            x, line = left, line + 1
        places.append((x, line))
        x += width + 10
    return places


def legend_height(texts: Sequence[str]) -> float:
    return LEGEND_LINE * (1 + legend_places(texts)[-1][1])
