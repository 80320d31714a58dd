"""Plots of calibration: reliability, perplexity, token positions, sections (figures 1 to 4).

Every plot is drawn from values that `calibration` computes, so it shows nothing that is not in the
numbers. Present and absent phrases differ in colour (safe for colour-blind readers), in hatching or
line style, and in the legend.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from keywright.analysis.plotting import FORMATS, GREY, blank, styled
from keywright.analysis.plotting import save as save_figure
from keywright.errors import DataError, UnknownNameError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from keywright.calibration.calibrate import Calibration, PartCalibration
    from keywright.calibration.perplexity import Histogram
    from keywright.calibration.position import Sections
    from keywright.calibration.tokens import TokenPosition

PARTS = ("present", "absent")
# Okabe and Ito (2008): distinct for all common kinds of colour vision, and in grey.
COLOURS = {"present": "#0072B2", "absent": "#D55E00", "all": "#009E73"}
HATCHES = {"present": "", "absent": "//", "all": ""}
LINES = {"present": "-", "absent": "--", "all": "-"}
MARKERS = {"present": "o", "absent": "s", "all": "D"}


def _figure(columns: int, height: float = 3.6) -> Figure:
    return blank(4.6 * columns, height)


def reliability(parts: Mapping[str, PartCalibration], title: str = "") -> Figure:
    """Figure 3: accuracy against confidence, and the number of phrases in each bar."""
    with styled():
        figure = _figure(len(parts), 4.4)
        grid = figure.add_gridspec(2, len(parts), height_ratios=(3, 1))
        for column, (name, part) in enumerate(parts.items()):
            _accuracy_bars(figure.add_subplot(grid[0, column]), name, part)
            _count_bars(figure.add_subplot(grid[1, column]), part)
        _title(figure, title)
    return figure


def _accuracy_bars(axes: Axes, name: str, part: PartCalibration) -> None:
    bins = [bin for bin in part.bins if bin.count]
    axes.plot([0, 1], [0, 1], color=GREY, linestyle=":", label="perfect calibration")
    axes.bar(
        [bin.low for bin in bins],
        [bin.accuracy or 0.0 for bin in bins],
        width=[bin.high - bin.low for bin in bins],
        align="edge",
        color=COLOURS[name],
        hatch=HATCHES[name],
        edgecolor="white",
        label="share of correct phrases",
    )
    axes.plot(
        [bin.confidence or 0.0 for bin in bins],
        [bin.accuracy or 0.0 for bin in bins],
        linestyle="none",
        marker=MARKERS[name],
        markersize=4,
        color="black",
        label="at the mean confidence",
    )
    error = part.scores["ECE"]
    summary = "no phrases" if error is None else f"ECE {100 * error:.1f} points"
    axes.set(xlim=(0, 1), ylim=(0, 1), ylabel="accuracy", title=f"{name}: {summary}")
    axes.tick_params(labelbottom=False)
    axes.legend(loc="upper left", fontsize=8)


def _count_bars(axes: Axes, part: PartCalibration) -> None:
    bins = part.bins
    bars = axes.bar(
        [bin.low for bin in bins],
        [bin.count for bin in bins],
        width=[bin.high - bin.low for bin in bins],
        align="edge",
        color="#BDBDBD",
        edgecolor="white",
    )
    axes.bar_label(bars, fontsize=7, padding=1)
    axes.set(xlim=(0, 1), xlabel="confidence", ylabel="phrases")
    axes.margins(y=0.25)
    axes.grid(visible=False)


def perplexity(parts: Mapping[str, Histogram], title: str = "") -> Figure:
    """Figure 1: the distribution of perplexity, with dashed lines at the medians.

    One plot per part, because absent phrases are few and would be invisible among the present ones.
    """
    with styled():
        figure = _figure(1, 1.2 + 1.8 * len(parts))
        grid = figure.subplots(len(parts), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (name, found) in zip(grid, parts.items(), strict=True):
            axes.stairs(
                found.counts,
                found.edges,
                fill=True,
                facecolor=COLOURS[name],
                hatch=HATCHES[name],
                edgecolor="white",
            )
            middle = math.nan if found.median is None else found.median
            if middle <= found.edges[-1]:
                axes.axvline(middle, color="black", linestyle="--", linewidth=1.4)
            axes.set(ylabel="phrases", xlim=(1, found.edges[-1]))
            axes.set_title(
                f"{name}: median {middle:.2f} (dashed), {found.above:,} beyond {found.edges[-1]:g}",
                fontsize=9,
                loc="left",
            )
        grid[-1].set_xlabel("keyphrase perplexity")
        _title(figure, title)
    return figure


def tokens(parts: Mapping[str, tuple[TokenPosition, ...]], title: str = "") -> Figure:
    """Figure 2: the probability of the 1st to 5th token, given those before; bars are quartiles."""
    with styled():
        figure = _figure(1)
        axes = figure.add_subplot()
        for shift, (name, places) in enumerate(parts.items()):
            known = [place for place in places if place.mean is not None and place.quartiles]
            middle = [place.mean or 0.0 for place in known]
            axes.vlines(
                [place.position + 0.12 * shift for place in known],
                [place.quartiles[0] for place in known if place.quartiles],
                [place.quartiles[2] for place in known if place.quartiles],
                color=COLOURS[name],
                linewidth=3,
                alpha=0.35,
            )
            axes.plot(
                [place.position + 0.12 * shift for place in known],
                middle,
                color=COLOURS[name],
                linestyle=LINES[name],
                marker=MARKERS[name],
                label=f"{name}: mean (bar: middle half)",
            )
        axes.set(xlabel="token of the phrase", ylabel="conditional probability", ylim=(0, 1.02))
        axes.set_xticks(range(1, 1 + max(map(len, parts.values()), default=1)))
        axes.legend(loc="lower right", fontsize=8)
        _title(figure, title)
    return figure


def sections(found: Sections, title: str = "") -> Figure:
    """Figure 4: the share of gold phrases found, by the part of the text they first occur in."""
    with styled():
        figure = _figure(1)
        axes = figure.add_subplot()
        count = len(found.gold)
        bars = axes.bar(
            range(count),
            [share or 0.0 for share in found.accuracy],
            color=COLOURS["present"],
            edgecolor="white",
        )
        axes.bar_label(
            bars,
            [f"{a:,} of {b:,}" for a, b in zip(found.found, found.gold, strict=True)],
            fontsize=8,
        )
        labels = [f"{100 * i // count}–{100 * (i + 1) // count}" for i in range(count)]
        axes.set_xticks(range(count), labels)
        axes.set(
            xlabel="first occurrence, % of the text",
            ylabel="share of gold phrases found",
            ylim=(0, 1),
        )
        _title(figure, title)
    return figure


def _title(figure: Figure, title: str) -> None:
    if title:
        figure.suptitle(title)


def draw(found: Calibration, title: str = "") -> dict[str, Figure]:
    """Every plot of a calibration that has values to show, by name."""
    figures = {"sections": sections(found.sections, title)}
    parts = {name: part for name, part in found.parts.items() if name in PARTS and part.phrases}
    if parts:
        figures["reliability"] = reliability(parts, title)
    # Predictions may state a confidence without token probabilities.
    known = [name for name in parts if found.tokens[name][0].count]
    if known:
        figures["perplexity"] = perplexity({name: found.perplexity[name] for name in known}, title)
        figures["tokens"] = tokens({name: found.tokens[name] for name in known}, title)
    return figures


def save(figures: Mapping[str, Figure], folder: str | Path, format: str = "svg") -> list[Path]:
    """Write figures to `folder/name.svg` (or png), each completely or not at all."""
    if format not in FORMATS:
        raise UnknownNameError("plot format", format, FORMATS)
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"the folder cannot be created: {error.strerror}", folder) from None
    paths = []
    for name, figure in figures.items():
        paths.append(folder / f"{name}.{format}")
        save_figure(figure, paths[-1])
    return paths
