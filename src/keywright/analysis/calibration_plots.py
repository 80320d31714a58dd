"""Calibration in pictures: reliability, perplexity, token positions, sections (figures 1 to 4).

Every plot is drawn from values that `calibration` computes, so a picture can show nothing that is
not in the numbers. Present and absent differ in colour (safe for colour-blind readers), in hatching
or line, and in the words of the legend.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from keywright.errors import DataError, MissingExtraError, UnknownNameError
from keywright.files import atomic_write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from keywright.analysis.position import Sections
    from keywright.calibration.calibrate import Calibration, PartCalibration
    from keywright.calibration.perplexity import Histogram
    from keywright.calibration.tokens import TokenPosition

FORMATS = ("svg", "png")
PARTS = ("present", "absent")
# Okabe and Ito (2008): told apart by all common kinds of colour vision, and in grey.
COLOURS = {"present": "#0072B2", "absent": "#D55E00", "all": "#009E73"}
HATCHES = {"present": "", "absent": "//", "all": ""}
LINES = {"present": "-", "absent": "--", "all": "-"}
MARKERS = {"present": "o", "absent": "s", "all": "D"}
GREY = "#595959"
_STYLE = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#E0E0E0",
    "grid.linewidth": 0.6,
    "legend.framealpha": 0.85,
    "legend.edgecolor": "none",
    "figure.constrained_layout.use": True,
    "hatch.linewidth": 0.6,
    # Text stays text, and the same values give the same file.
    "svg.fonttype": "none",
    "svg.hashsalt": "keywright",
}


def _figure(columns: int, height: float = 3.6) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise MissingExtraError("drawing plots", "matplotlib", "analysis") from None
    return Figure(figsize=(4.6 * columns, height))


def _styled() -> Any:
    try:
        import matplotlib as mpl
    except ModuleNotFoundError:
        raise MissingExtraError("drawing plots", "matplotlib", "analysis") from None
    return mpl.rc_context(cast(Any, _STYLE))


def reliability(parts: Mapping[str, PartCalibration], title: str = "") -> Figure:
    """Figure 3: accuracy against confidence, with how many phrases each bar stands for."""
    with _styled():
        figure = _figure(len(parts), 4.4)
        grid = figure.add_gridspec(2, len(parts), height_ratios=(3, 1))
        for column, (name, part) in enumerate(parts.items()):
            _accuracy_bars(figure.add_subplot(grid[0, column]), name, part)
            _count_bars(figure.add_subplot(grid[1, column]), name, part)
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
        label="share that is correct",
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
    said = "no phrases" if error is None else f"ECE {100 * error:.1f} points"
    axes.set(xlim=(0, 1), ylim=(0, 1), ylabel="accuracy", title=f"{name}: {said}")
    axes.tick_params(labelbottom=False)
    axes.legend(loc="upper left", fontsize=8)


def _count_bars(axes: Axes, name: str, part: PartCalibration) -> None:
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
    """Figure 1: how many phrases have which perplexity, dashed lines at the medians.

    One above the other, because absent phrases are few and would drown among the present ones.
    """
    with _styled():
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
    with _styled():
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
    with _styled():
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
    """Every plot of a calibration that has values to show, by its name."""
    figures = {"sections": sections(found.sections, title)}
    parts = {name: part for name, part in found.parts.items() if name in PARTS and part.phrases}
    if parts:
        figures["reliability"] = reliability(parts, title)
    # Predictions may state a confidence without the token probabilities behind it.
    known = [name for name in parts if found.tokens[name][0].count]
    if known:
        figures["perplexity"] = perplexity({name: found.perplexity[name] for name in known}, title)
        figures["tokens"] = tokens({name: found.tokens[name] for name in known}, title)
    return figures


def save(figures: Mapping[str, Figure], folder: str | Path, format: str = "svg") -> list[Path]:
    """Write figures to `folder/name.svg` (or png), each whole or not at all."""
    if format not in FORMATS:
        raise UnknownNameError("format of plots", format, FORMATS)
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"cannot be made into a folder: {error.strerror}", folder) from None
    paths = []
    for name, figure in figures.items():
        data = io.BytesIO()
        with _styled():
            # A date in the file would make two runs on the same values differ.
            metadata = {"Date": None} if format == "svg" else None
            figure.savefig(data, format=format, dpi=160, metadata=cast(Any, metadata))
        paths.append(folder / f"{name}.{format}")
        with atomic_write(paths[-1], "wb") as file:
            cast(IO[bytes], file).write(data.getvalue())
    return paths
