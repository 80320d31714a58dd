"""Tables for people (aligned text, Markdown), for papers (LaTeX) and for programs (JSON, TSV).

Whoever makes a table, its values are written in one way and escaped by one rule per format.
"""

from __future__ import annotations

import math
import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

FORMATS = ("json", "latex", "markdown", "table", "tsv")
Layout = Literal["table", "markdown", "latex"]
"""The formats that are laid out for people to read."""
Value = str | int | float
Row = Mapping[str, Value]

_LATEX = {
    **{character: f"\\{character}" for character in "#%&_${}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "−": "$-$",
    "±": r"$\pm$",
    "≥": r"$\geq$",
    "–": "--",
}
_LATEX_SPECIAL = re.compile(f"[{re.escape(''.join(_LATEX))}]")
_MARKDOWN_SPECIAL = re.compile(r"([\\`*_\[\]<>|])")
_COMMENT = {"latex": "% ", "tsv": "# "}


@dataclass(frozen=True)
class Cell:
    """A cell of a table: what is shown, and what it is sorted by (the text where it is None).

    `interval` and `mark` (of significance) follow the text; `best` is the best of its column.
    """

    text: str
    value: float | None = None
    interval: str = ""
    mark: str = ""
    best: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of cells; the first column names the row. `name` is short and unique in a report."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()


def number(value: float | None, digits: int = 2) -> Cell:
    """A number as a cell; a missing one is a dash, which sorts below every number."""
    if value is None:
        return Cell("–", -math.inf)
    return Cell(f"{value:,.{digits}f}".replace("-", "−"), value)


def count(value: int) -> Cell:
    return Cell(f"{value:,}", value)


def percent(value: float | None, digits: int = 1) -> Cell:
    return number(None if value is None else 100 * value, digits)


def shown(value: Value) -> str:
    """A value as people read it; JSON and TSV keep its full precision instead."""
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else value


def escape(text: str, layout: Layout) -> str:
    """Text that a format shows as it is, on one line."""
    text = " ".join(text.split())
    match layout:
        case "table":
            return text
        case "markdown":
            return _MARKDOWN_SPECIAL.sub(r"\\\1", text)
        case "latex":
            return _LATEX_SPECIAL.sub(lambda match: _LATEX[match[0]], text)


def render(rows: Sequence[Row], format: str) -> str:
    """Rows with the same columns in one of `FORMATS`."""
    if format == "json":
        import msgspec  # here, because every verb imports FORMATS

        return msgspec.json.format(msgspec.json.encode(rows)).decode()
    columns = list(rows[0]) if rows else []
    if format == "tsv":
        lines = [columns, *([str(row[column]) for column in columns] for row in rows)]
        return "\n".join("\t".join(map(_on_one_line, line)) for line in lines)
    cells = [[Cell(shown(row[column])) for column in columns] for row in rows]
    return lay_out(columns, cells, _layout(format))


def titled(tables: Iterable[tuple[str, Sequence[Row]]], format: str) -> str:
    """Several tables, each below its title, in any of `FORMATS` except JSON."""
    gap = "\n\n" if format == "markdown" else "\n"
    return "\n\n".join(
        f"{heading(title, format)}{gap}{render(rows, format)}" for title, rows in tables
    )


def heading(title: str, format: str) -> str:
    """The title of a table: a heading in Markdown, a comment in LaTeX and TSV."""
    return f"### {escape(title, 'markdown')}" if format == "markdown" else remark(title, format)


def remark(text: str, format: str) -> str:
    """A line beside tables: a comment where the format has comments."""
    return _COMMENT.get(format, "") + text


def lay_out(columns: Sequence[str], rows: Sequence[Sequence[Cell]], layout: Layout) -> str:
    """A table of cells; columns of numbers are aligned to the right."""
    head = [escape(column, layout) for column in columns]
    body = [[_cell(cell, layout) for cell in row] for row in rows]
    left = [_is_text([row[place].text for row in rows]) for place in range(len(columns))]
    return {"table": _aligned, "markdown": _markdown, "latex": _latex}[layout](head, body, left)


def _is_text(column: Sequence[str]) -> bool:
    """Whether the first entry of a column starts like a word."""
    return next((text for text in column if text), "")[:1].isalpha()


def _layout(format: str) -> Layout:
    match format:
        case "table" | "markdown" | "latex":
            return format
    raise ValueError(f"unknown format of tables: {format!r}")


def _on_one_line(text: str) -> str:
    return re.sub(r"[\t\r\n]", " ", text)


def _cell(cell: Cell, layout: Layout) -> str:
    text, mark, interval = (escape(t, layout) for t in (cell.text, cell.mark, cell.interval))
    if layout == "latex":
        text = rf"\textbf{{{text}}}" if cell.best else text
        mark = f"$^{{{mark}}}$" if mark else ""
        return text + mark + (rf" {{\scriptsize ({interval})}}" if interval else "")
    if layout == "markdown" and cell.best:
        text = f"**{text}**"
    return f"{text}{mark} ({interval})" if interval else f"{text}{mark}"


def _aligned(columns: list[str], rows: list[list[str]], left: list[bool]) -> str:
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    lines = [columns, ["-" * width for width in widths], *rows]
    return "\n\n".join(
        "\n".join(_placed(line, places, widths, left) for line in lines)
        for places in _folded(widths, left, screen_width())
    )


def _placed(line: list[str], places: list[int], widths: list[int], left: list[bool]) -> str:
    cells = (
        line[at].ljust(widths[at]) if left[at] else line[at].rjust(widths[at]) for at in places
    )
    return "  ".join(cells).rstrip()


def screen_width() -> int | None:
    """How many characters fit on a line of the terminal; None if the output goes elsewhere."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _folded(widths: list[int], left: list[bool], most: int | None) -> list[list[int]]:
    """The columns of each block of a table; every block repeats those that name the rows."""
    everything = list(range(len(widths)))
    names = 1
    while names < len(left) and left[names]:
        names += 1
    if most is None or not widths:
        return [everything]
    if sum(widths[:names]) + 2 * names > most / 2:
        names = 1
    keys = everything[:names]
    blocks = [[*keys]]
    for at in everything[names:]:
        used = sum(widths[place] + 2 for place in blocks[-1])
        if used + widths[at] > most and len(blocks[-1]) > len(keys):
            blocks.append([*keys])
        blocks[-1].append(at)
    return blocks


def _markdown(columns: list[str], rows: list[list[str]], left: list[bool]) -> str:
    rule = ["---" if text else "---:" for text in left]
    return "\n".join(f"| {' | '.join(line)} |" for line in (columns, rule, *rows))


def _latex(columns: list[str], rows: list[list[str]], left: list[bool]) -> str:
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{''.join('l' if text else 'r' for text in left)}}}",
            r"\toprule",
            " & ".join(columns) + r" \\",
            r"\midrule",
            *(" & ".join(row) + r" \\" for row in rows),
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )
