"""The report's words and tables in Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from keywright.report import tables
from keywright.report.findings import Findings
from keywright.report.summary import summary
from keywright.report.values import Cell, Table


def render(findings: Findings, card: Sequence[tuple[str, str]]) -> str:
    blocks = ["# Keyphrase report", "\n".join(f"* {_plain(said)}" for said in summary(findings))]
    if findings.left_out:
        blocks += ["## Left out", "\n".join(f"* {_plain(said)}" for said in findings.left_out)]
    for table in tables.every(findings):
        blocks += [f"## {_plain(table.title)}", _table(table), *map(_plain, table.notes)]
    lines = [f"* {_plain(what)}: `{value.replace('`', ' ')}`" for what, value in card]
    return "\n\n".join([*blocks, "## Run card", "\n".join(lines)]) + "\n"


def _table(table: Table) -> str:
    rule = ["---", *["---:"] * (len(table.columns) - 1)]
    rows = [[_cell(cell) for cell in row] for row in table.rows]
    lines = [list(map(_plain, table.columns)), rule, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(cell: Cell) -> str:
    text = _plain(cell.text)
    text = f"**{text}**" if cell.best else text
    mark = cell.mark.replace("*", r"\*")
    return f"{text}{mark} ({cell.interval})" if cell.interval else f"{text}{mark}"


def _plain(text: str) -> str:
    """Text that Markdown shows as it stands, on one line."""
    text = " ".join(text.split())
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", text)
