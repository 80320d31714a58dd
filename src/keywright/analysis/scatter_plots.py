"""Scores against people's ratings in a picture: one panel per score."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from keywright.analysis.judgement import Judgement
from keywright.analysis.plotting import (
    GREY,
    MARKERS,
    PALETTE,
    ROUND,
    blank,
    shortened,
    styled,
    wrapped,
)
from keywright.analysis.ratings import Item, Scores
from keywright.errors import KeywrightError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL = (3.7, 3.2)
"""Width and height of a panel in inches."""
MOST_SCORES = 24
_DOT = 24.0
"""Square points that the dot of a single item covers."""
_CAPTION = (
    "The area of a dot grows with its number of items. Line: least squares. "
    "r: Pearson, ρ: Spearman, τ: Kendall (tau-b)."
)
_SIGNS = {"pearson": "r", "spearman": "ρ", "kendall": "τ"}


def draw(ratings: Mapping[Item, float], scores: Scores, judgement: Judgement) -> Figure:
    """Every score (horizontally) against the mean ratings (vertically), by system."""
    if len(scores) > MOST_SCORES:
        raise KeywrightError(
            f"there are {len(scores)} scores, and a picture has room for {MOST_SCORES}; draw fewer"
        )
    columns = 2 if len(scores) in (2, 4) else min(len(scores), 3)
    rows = math.ceil(len(scores) / columns)
    with styled():
        figure = blank(PANEL[0] * columns, PANEL[1] * rows + 0.5)
        grid = figure.subplots(rows, columns, squeeze=False).flatten()
        for panel, (name, values) in zip(grid, scores.items(), strict=False):
            _draw_panel(panel, ratings, values)
            _label(panel, name, judgement)
        for panel in grid[len(scores) :]:
            panel.remove()
        handles, systems = grid[0].get_legend_handles_labels()
        if systems:
            figure.legend(handles, systems, loc="outside upper left", ncols=columns, frameon=False)
        caption = wrapped(_CAPTION, PANEL[0] * columns)
        figure.supxlabel(caption, x=0.01, ha="left", fontsize=8, color=GREY)
    return figure


def _draw_panel(panel: Axes, ratings: Mapping[Item, float], values: Mapping[Item, float]) -> None:
    items = [item for item in ratings if item in values]
    systems = list(dict.fromkeys(item.system for item in ratings))
    for place, system in enumerate(systems):
        dots = Counter((values[item], ratings[item]) for item in items if item.system == system)
        panel.scatter(
            [x for x, _ in dots],
            [y for _, y in dots],
            s=[_DOT * math.sqrt(count) for count in dots.values()],
            color=PALETTE[place % len(PALETTE)],
            marker=MARKERS[(place + place // len(PALETTE)) % len(MARKERS)],
            alpha=0.6,
            edgecolors="white",
            linewidths=0.4,
            label=system,
        )
    x = np.array([values[item] for item in items])
    y = np.array([ratings[item] for item in items])
    if len(set(x.tolist())) > 1:
        ends = np.array([x.min(), x.max()])
        slope = float(np.cov(x, y, bias=True)[0, 1] / np.var(x))
        panel.plot(ends, y.mean() + slope * (ends - x.mean()), color=GREY, linewidth=1.2)


def _label(panel: Axes, name: str, judgement: Judgement) -> None:
    from matplotlib.ticker import MaxNLocator

    found = judgement.between(name).coefficients
    shown = [
        f"{_SIGNS[coefficient]} = {estimate.value:.2f}"
        for coefficient, estimate in found.items()
        if estimate.value is not None
    ]
    panel.set_title(shortened(name, 22), loc="left", fontsize=10, fontweight="bold")
    panel.set_title(", ".join(shown) or "not defined", loc="right", fontsize=8, color=GREY)
    panel.set_xlabel("score", fontsize=9)
    several = len(judgement.annotators) > 1
    panel.set_ylabel("mean rating" if several else "rating", fontsize=9)
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_locator(MaxNLocator(6, steps=ROUND))
    panel.tick_params(labelsize=8)
    panel.margins(0.06)
