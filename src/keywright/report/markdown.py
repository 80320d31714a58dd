"""The report's words and tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from keywright.report import tables
from keywright.report.findings import Findings
from keywright.report.summary import summary
from keywright.tables import escape, lay_out


def render(findings: Findings, card: Sequence[tuple[str, str]]) -> str:
    blocks = ["# Keyphrase report", _list(summary(findings))]
    if findings.left_out:
        blocks += ["## Left out", _list(findings.left_out)]
    for table in tables.every(findings):
        blocks += [
            f"## {escape(table.title, 'markdown')}",
            lay_out(table.columns, table.rows, "markdown"),
            *(escape(note, "markdown") for note in table.notes),
        ]
    lines = [f"* {escape(what, 'markdown')}: `{value.replace('`', ' ')}`" for what, value in card]
    return "\n\n".join([*blocks, "## Run card", "\n".join(lines)]) + "\n"


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"* {escape(line, 'markdown')}" for line in lines)
