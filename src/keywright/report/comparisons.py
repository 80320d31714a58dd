"""Figures that compare systems: bars of a score, phrases that two share, layouts of states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from keywright.analysis.overlap import Overlap
from keywright.analysis.states import Projection
from keywright.report.figures import SERIES, as_figure, shortened
from keywright.report.svg import Drawing, Plot, Scale, legend_height, ticks
from keywright.report.values import Figure
from keywright.tables import Cell, Table, count, number, percent

_GROUP = 12  # letters of the name of a group of bars
_PANEL, _GAP = 148.0, 8.0
_RIGHT, _WRONG = "s2", "s1"


@dataclass(frozen=True)
class Bar:
    """A value in the unit of its axis, as it is written, with its deviation over seeds."""

    value: float
    text: str
    deviation: float = 0.0


def score_bars(
    name: str,
    title: str,
    label: str,
    groups: Sequence[str],
    series: Mapping[str, Sequence[Bar | None]],
) -> Figure:
    """Groups of bars, one colour per series; None is a bar that does not exist."""
    bars = [bar for made in series.values() for bar in made if bar is not None]
    high = ticks(max((bar.value + bar.deviation for bar in bars), default=0.0))
    legend = [(f"s{i % SERIES}", shortened(one, 28)) for i, one in enumerate(series)]
    several = len(groups) > 1
    staggered = 13 if several and len(groups) > 4 else 0
    below = legend_height([text for _, text in legend]) + 6 + staggered
    plot = Plot((0, len(groups)), high, labels=("" if several else groups[0], label), below=below)
    width = 0.84 / len(series)
    for place, made in enumerate(series.values()):
        for group, bar in enumerate(made):
            if bar is None:
                continue
            low = group + 0.08 + place * width
            plot.bar(low, low + width, bar.value, f"s{place % SERIES}", inset=0.4)
            if bar.deviation:
                at = plot.x(low + width / 2)
                ends = (plot.y(bar.value - bar.deviation), plot.y(bar.value + bar.deviation))
                plot.drawing.line(at, ends[0], at, ends[1], "whisker")
    for group, text in enumerate(groups if several else ()):
        level = plot.bottom + 15 + (staggered if group % 2 else 0)
        plot.drawing.text(plot.x(group + 0.5), level, shortened(text, _GROUP), "small")
    plot.legend(legend, 222 + staggered if several else 234)
    table = Table(
        name,
        title,
        ("", *series),
        tuple(
            (Cell(group), *(_bar_cell(made[place]) for made in series.values()))
            for place, group in enumerate(groups)
        ),
    )
    described = "; ".join(
        f"{one} {bar.text} ({group})" if several else f"{one} {bar.text}"
        for one, made in series.items()
        for group, bar in zip(groups, made, strict=True)
        if bar is not None
    )
    return as_figure(plot.drawing, table, f"{label}: {described or 'nothing to show'}.")


def _bar_cell(bar: Bar | None) -> Cell:
    return number(None) if bar is None else Cell(bar.text, bar.value)


def shared_bars(found: Overlap, name: str, title: str) -> Figure:
    """The phrases that two systems share, right and wrong, by the agreement of their document."""
    highest = max(max(b.shared.correct, b.shared.wrong) for b in found.brackets)
    plot = Plot((0, 100), ticks(highest), labels=("agreement, %", "shared phrases"), below=20)
    plot.ticks((tick, f"{tick}") for tick in (0, 20, 40, 60, 80, 100))
    for bracket in found.brackets:
        low, top = 100 * bracket.low, 100 * bracket.high
        middle = (low + top) / 2
        plot.bar(low, middle, bracket.shared.correct, _RIGHT, inset=0.5)
        plot.bar(middle, top, bracket.shared.wrong, _WRONG, inset=0.5)
    plot.legend([(_RIGHT, "in the gold"), (_WRONG, "not in the gold")], 234)
    table = Table(
        name,
        title,
        ("agreement, %", "documents", "shared, in the gold", "shared, not in the gold", "right, %"),
        tuple(
            (
                Cell(f"{100 * bracket.low:.0f} to {100 * bracket.high:.0f}", bracket.low),
                count(bracket.documents),
                count(bracket.shared.correct),
                count(bracket.shared.wrong),
                percent(bracket.shared.precision),
            )
            for bracket in found.brackets
        ),
    )
    described = (
        f"{found.shared.total:,} shared {found.part} phrases of {found.documents:,} documents, "
        f"{found.shared.correct:,} of them in the gold."
    )
    return as_figure(plot.drawing, table, described)


def state_clouds(name: str, title: str, found: Sequence[Projection], series: int = 0) -> Figure:
    """Decoder states in the plane, one panel per number of steps after a delimiter."""
    columns = max(1, len(found))
    drawing = Drawing(_PANEL + 42, columns * (_PANEL + _GAP) - _GAP)
    for column, projection in enumerate(found):
        left = column * (_PANEL + _GAP)
        drawing.rectangle(left + 0.5, 0.5, _PANEL - 1, _PANEL - 1, "outline")
        _cloud(drawing, projection, left, f"cloud s{series % SERIES}")
        steps = "1 step" if projection.step == 1 else f"{projection.step} steps"
        drawing.text(left + _PANEL / 2, _PANEL + 16, f"{steps} after")
        cosine = f"mean cosine {projection.similarity:.2f}"
        drawing.text(left + _PANEL / 2, _PANEL + 32, cosine, "small")
    table = Table(
        name,
        title,
        ("steps after a delimiter", "states", "mean cosine of two states"),
        tuple((count(p.step), count(len(p.rows)), number(p.similarity, 3)) for p in found),
    )
    described = "; ".join(
        f"{p.step} after a delimiter: {len(p.rows):,} states, mean cosine {p.similarity:.3f}"
        for p in found
    )
    return as_figure(drawing, table, f"{described or 'Too few states for a layout'}.")


def _cloud(drawing: Drawing, projection: Projection, left: float, kind: str) -> None:
    xs, ys = projection.points[:, 0], projection.points[:, 1]
    margin = 6
    x = Scale(float(xs.min()), float(xs.max()), left + margin, left + _PANEL - margin)
    y = Scale(float(ys.min()), float(ys.max()), _PANEL - margin, margin)
    for a, b in projection.points.tolist():
        drawing.circle(x(a), y(b), 1.4, kind)
