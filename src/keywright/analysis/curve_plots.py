"""Learning curves in a picture: one small panel per value, all runs in each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from keywright.analysis.curves import RATE, TRAIN, Axis, Curve, RunLog, smoothed
from keywright.analysis.plotting import (
    GREY,
    LINES,
    MARKERS,
    PALETTE,
    ROUND,
    Line,
    blank,
    shortened,
    styled,
    wrapped,
)
from keywright.errors import KeywrightError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Value -> title of its panel, unit.
TITLES = {
    "loss": ("Training loss", "per target token"),
    "nll": ("Negative log-likelihood", "per target token"),
    "valid.loss": ("Validation loss", "per target token"),
    RATE: ("Learning rate", ""),
    "gradient_norm": ("Gradient norm", "before clipping"),
    "documents_per_second": ("Speed", "documents / s"),
}
AXES: Mapping[Axis, str] = {
    "documents": "documents seen",
    "updates": "updates",
    "minutes": "minutes of training",
}
MOST_RUNS = len(PALETTE) * len(LINES)
PANEL = (3.7, 2.3)
"""Width and height of a panel in inches: letters of 9 points stay readable at 100%."""
_NARROWEST = 5.0
# Inches that a letter of the legend takes, and a line of legend or caption.
_LETTER = 0.085
_LINE = 0.24
_MOST_MARKED = 60
"""Validations of a curve that are marked one by one."""
_START = 0.05
"""Share of a curve that may leave its panel at the top."""


@dataclass(frozen=True)
class View:
    """How curves are shown: along which axis, and over which share of a curve they are averaged."""

    axis: Axis = "documents"
    smooth: float = 0.05


@dataclass(frozen=True)
class _Look:
    """What tells a run from the others."""

    colour: str
    line: Line
    marker: str


def draw(runs: Mapping[str, RunLog], values: Sequence[str], view: View | None = None) -> Figure:
    """A panel for each of the values; `runs` are named as in the legend."""
    view = view or View()
    if len(runs) > MOST_RUNS:
        raise KeywrightError(
            f"there are {len(runs)} runs, and a plot can tell {MOST_RUNS} apart; plot fewer"
        )
    columns = _columns(len(values))
    rows = math.ceil(len(values) / columns)
    width = max(PANEL[0] * columns, _NARROWEST)
    legend_columns = _legend_columns(list(runs), width)
    caption = wrapped(_caption(list(runs.values()), values, view), width)
    lines = math.ceil(len(runs) / legend_columns) + len(caption.splitlines())
    with styled():
        figure = blank(width, PANEL[1] * rows + 0.2 + _LINE * lines)
        grid = figure.subplots(rows, columns, squeeze=False).flatten()
        for place, (panel, name) in enumerate(zip(grid, values, strict=False)):
            _draw_panel(panel, name, runs, view)
            if place + columns >= len(values):
                panel.set_xlabel(AXES[view.axis], fontsize=9)
        for panel in grid[len(values) :]:
            panel.remove()
        _add_legend(figure, list(runs), legend_columns)
        figure.supxlabel(caption, x=0.01, ha="left", fontsize=8, color=GREY)
    return figure


def _columns(panels: int) -> int:
    """Two panels and four make a square, others rows of up to three."""
    return 2 if panels in (2, 4) else min(panels, 3)


def _looks(count: int) -> list[_Look]:
    return [
        _Look(
            PALETTE[place % len(PALETTE)],
            LINES[place // len(PALETTE)],
            MARKERS[place % len(MARKERS)],
        )
        for place in range(count)
    ]


def _draw_panel(panel: Axes, name: str, runs: Mapping[str, RunLog], view: View) -> None:
    curves: list[Curve] = []
    for run, look in zip(runs.values(), _looks(len(runs)), strict=True):
        for curve in run.curves(name, view.axis):
            _draw_curve(panel, curve, look, view.smooth)
            curves.append(curve)
        for start in run.stage_starts(view.axis).values():
            panel.axvline(start, color=look.colour, linestyle=(0, (4, 3)), linewidth=1)
    title, unit = TITLES.get(name, (_title(name), ""))
    panel.set_title(title, loc="left", fontsize=10, fontweight="bold")
    panel.set_ylabel(unit, fontsize=8, color=GREY)
    if name == RATE:
        panel.set_ylim(0, 1.08 * max(float(curve.y.max()) for curve in curves) or 1)
    else:
        _set_limits(panel, curves)
    _set_ticks(panel)
    end = max(run.end(view.axis) for run in runs.values())
    panel.set_xlim(0, 1.03 * end or 1)


def _draw_curve(panel: Axes, curve: Curve, look: _Look, smooth: float) -> None:
    y = smoothed(curve.y, smooth) if curve.noisy else curve.y
    if y is not curve.y:
        panel.plot(curve.x, curve.y, color=look.colour, linewidth=0.7, alpha=0.25)
    marked = curve.kind != TRAIN and len(curve.x) <= _MOST_MARKED
    panel.plot(
        curve.x,
        y,
        color=look.colour,
        linestyle=look.line,
        linewidth=1.6,
        marker=look.marker if marked or len(curve.x) == 1 else "",
        markersize=4,
    )
    for place in np.flatnonzero(curve.best)[-1:]:
        panel.plot(
            curve.x[place],
            y[place],
            marker="o",
            markersize=10,
            markerfacecolor="none",
            markeredgecolor=look.colour,
            markeredgewidth=1.4,
        )


def _set_limits(panel: Axes, curves: Sequence[Curve]) -> None:
    """Cut off the first steep steps of a loss, which would press the rest into a flat line."""
    later = np.concatenate([curve.y[round(_START * len(curve.y)) :] for curve in curves])
    everything = np.concatenate([curve.y for curve in curves])
    low, high = (float(bound) for bound in np.quantile(later, [0.002, 0.998]))
    if high == low or high - low > np.ptp(everything) / 2:
        return
    margin = (high - low) / 12
    panel.set_ylim(low - margin, high + margin)
    outside = [
        y for curve in curves if not low - margin <= (y := float(curve.y[0])) <= high + margin
    ]
    if outside:
        ends = dict.fromkeys(f"{end:.3g}" for end in (min(outside), max(outside)))
        panel.text(
            0.98,
            0.9,
            f"starts at {' to '.join(ends)}",
            transform=panel.transAxes,
            horizontalalignment="right",
            fontsize=8,
            color=GREY,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1},
        )


def _set_ticks(panel: Axes) -> None:
    from matplotlib.ticker import EngFormatter, FuncFormatter, MaxNLocator

    panel.xaxis.set_major_locator(MaxNLocator(5, steps=ROUND, min_n_ticks=3))
    panel.xaxis.set_major_formatter(EngFormatter(sep=""))
    panel.yaxis.set_major_locator(MaxNLocator(5, steps=ROUND))
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    panel.tick_params(labelsize=8)


def _title(name: str) -> str:
    text = name.replace("_", " ")
    if text.startswith("valid."):
        return f"Validation {text.removeprefix('valid.')}"
    return text[:1].upper() + text[1:]


def _legend_columns(names: Sequence[str], width: float) -> int:
    widest = 0.6 + _LETTER * max(len(shortened(name)) for name in names)
    return max(1, min(len(names), int(width / widest)))


def _add_legend(figure: Figure, names: Sequence[str], columns: int) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=look.colour, linestyle=look.line, linewidth=2.5, label=shortened(name))
        for name, look in zip(names, _looks(len(names)), strict=True)
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=columns, frameon=False)


def _caption(runs: Sequence[RunLog], values: Sequence[str], view: View) -> str:
    """What lines and marks mean, as far as the picture has them."""
    curves = [curve for run in runs for name in values for curve in run.curves(name, view.axis)]
    parts = []
    if view.smooth and any(curve.noisy for curve in curves):
        parts.append(
            f"Strong lines: averages over {100 * view.smooth:.3g}% of a stage; faint: as logged."
        )
    if any(curve.best.any() for curve in curves):
        parts.append("Ring: the best validation, whose weights are kept.")
    if any(run.stage_starts(view.axis) for run in runs):
        parts.append("Dashed vertical line: a new stage begins.")
    return " ".join(parts)
