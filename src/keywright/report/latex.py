"""The report's tables in LaTeX (booktabs), for papers."""

from __future__ import annotations

from collections.abc import Sequence

from keywright.report import tables
from keywright.report.findings import Findings
from keywright.report.summary import summary
from keywright.tables import Table, escape, lay_out


def render(findings: Findings, card: Sequence[tuple[str, str]]) -> str:
    """The summary and the run card are comments, so that the file can be included as it is."""
    lines = [*summary(findings), *findings.left_out, *(f"{what}: {value}" for what, value in card)]
    comments = [
        "% Needs \\usepackage{booktabs}.",
        *(f"% {' '.join(line.split())}" for line in lines),
    ]
    return "\n\n".join(["\n".join(comments), *map(_table, tables.every(findings))]) + "\n"


def _table(table: Table) -> str:
    notes = " ".join(escape(note, "latex") for note in table.notes)
    caption = rf"\caption{{{escape(table.title, 'latex')}. {notes}}}".replace(". }", ".}")
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering\small",
            caption,
            rf"\label{{tab:{table.name}}}",
            lay_out(table.columns, table.rows, "latex"),
            r"\end{table}",
        ]
    )
