"""What all plots share: matplotlib when it is installed, one style, colours, and whole files."""

from __future__ import annotations

import io
import textwrap
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, cast

from keywright.errors import KeywrightError, MissingExtraError
from keywright.files import atomic_write

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Line = Literal["-", "--", ":", "-."]

_SMALL_LETTER = 0.065
"""Inches that a letter of 8 points takes."""
FORMATS = ("svg", "png")
# Okabe and Ito (2008), without the yellow that white paper swallows: told apart by all common
# kinds of colour vision.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# Once the colours are used up, the next style of line starts again with the first colour.
LINES: tuple[Line, ...] = ("-", "--", ":", "-.")
MARKERS = ("o", "s", "D", "^", "v", "P", "X")
# Steps between the numbers of an axis, times a power of ten.
ROUND = (1, 2, 2.5, 5, 10)
GREY = "#595959"
STYLE = {
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


def styled() -> AbstractContextManager[None]:
    """The style of our plots, for drawing and for saving."""
    try:
        import matplotlib as mpl
    except ModuleNotFoundError:
        raise MissingExtraError("drawing plots", "matplotlib", "analysis") from None
    return mpl.rc_context(cast(Any, STYLE))


def blank(width: float, height: float) -> Figure:
    """An empty figure, in inches."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise MissingExtraError("drawing plots", "matplotlib", "analysis") from None
    return Figure(figsize=(width, height))


def format_of(path: Path) -> str:
    """The format that a file name asks for; call it before any work is done."""
    suffix = path.suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        raise KeywrightError(
            f"{path}: the name of a plot must end in "
            f"{' or '.join(f'.{format}' for format in FORMATS)}"
        )
    return suffix


def shortened(name: str, longest: int = 40) -> str:
    """A name with its middle left out if it is too long: runs and scores differ at their ends."""
    if len(name) <= longest:
        return name
    start = longest // 3
    return f"{name[:start]}…{name[start + 1 - longest :]}"


def wrapped(caption: str, width: float) -> str:
    """A caption of 8 points in lines that fit into a width in inches."""
    return "\n".join(textwrap.wrap(caption, int(width / _SMALL_LETTER)))


def save(figure: Figure, path: Path, dpi: int = 160) -> None:
    """Write a figure in the format that its name asks for, whole or not at all."""
    format = format_of(path)
    data = io.BytesIO()
    with styled():
        # A date in the file would make two runs on the same values differ.
        metadata = {"Date": None} if format == "svg" else None
        figure.savefig(data, format=format, dpi=dpi, metadata=cast(Any, metadata))
    with atomic_write(path, "wb") as file:
        cast(IO[bytes], file).write(data.getvalue())
