"""Tables for people (aligned text, Markdown), programs (JSON, TSV) and papers (LaTeX)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

FORMATS = ("json", "latex", "markdown", "table", "tsv")
Row = Mapping[str, str | int | float]


def render(rows: Sequence[Row], format: str) -> str:
    """Rows with the same columns in one of `FORMATS`; JSON and TSV keep the full precision."""
    if format == "json":
        return msgspec.json.format(msgspec.json.encode(rows)).decode()
    columns = list(rows[0]) if rows else []
    if format == "tsv":
        lines = [columns, *([str(row[column]) for column in columns] for row in rows)]
        return "\n".join("\t".join(line) for line in lines)
    cells = [[_shown(row[column]) for column in columns] for row in rows]
    layout = {"latex": _latex, "markdown": _markdown, "table": _aligned}[format]
    return layout(columns, cells)


def titled(tables: Sequence[tuple[str, Sequence[Row]]], format: str) -> str:
    """Several tables under one another, each with its title, in any of `FORMATS` but JSON."""
    mark = {"latex": "% ", "markdown": "### ", "tsv": "# "}.get(format, "")
    gap = "\n\n" if format == "markdown" else "\n"
    return "\n\n".join(f"{mark}{title}{gap}{render(rows, format)}" for title, rows in tables)


def _shown(value: str | int | float) -> str:
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else value


def _aligned(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    """The first column to the left, the others, which are numbers, to the right."""
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    lines = []
    for line in (columns, ["-" * width for width in widths], *cells):
        first, *rest = zip(line, widths, strict=True)
        right = (cell.rjust(width) for cell, width in rest)
        lines.append("  ".join([first[0].ljust(first[1]), *right]).rstrip())
    return "\n".join(lines)


def _markdown(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    rule = ["---", *["---:"] * (len(columns) - 1)]
    lines = [[cell.replace("|", r"\|") for cell in line] for line in (columns, *cells)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (lines[0], rule, *lines[1:]))


def _latex(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    head, *body = ([_escaped(cell) for cell in line] for line in (columns, *cells))
    return "\n".join(
        [
            rf"\begin{{tabular}}{{l{'r' * (len(columns) - 1)}}}",
            r"\toprule",
            " & ".join(head) + r" \\",
            r"\midrule",
            *(" & ".join(line) + r" \\" for line in body),
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def _escaped(text: str) -> str:
    return "".join(f"\\{c}" if c in "#%&_$" else c for c in text)
