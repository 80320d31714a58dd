"""The report's tables in LaTeX (booktabs), for papers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from keywright.report import tables
from keywright.report.findings import Findings
from keywright.report.summary import summary
from keywright.report.values import Cell, Table

_SPECIAL = {
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


def render(findings: Findings, card: Sequence[tuple[str, str]]) -> str:
    """The summary and the run card are comments, so that the file can be included as it is."""
    said = [*summary(findings), *findings.left_out, *(f"{what}: {value}" for what, value in card)]
    comments = [
        "% Needs \\usepackage{booktabs}.",
        *(f"% {' '.join(line.split())}" for line in said),
    ]
    return "\n\n".join(["\n".join(comments), *map(_table, tables.every(findings))]) + "\n"


def _table(table: Table) -> str:
    columns = "l" + "r" * (len(table.columns) - 1)
    rows = [" & ".join(map(_cell, row)) + r" \\" for row in table.rows]
    notes = " ".join(map(_escaped, table.notes))
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering\small",
            rf"\caption{{{_escaped(table.title)}. {notes}}}".replace(". }", ".}"),
            rf"\label{{tab:{table.name}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            " & ".join(map(_escaped, table.columns)) + r" \\",
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
    )


def _cell(cell: Cell) -> str:
    text = _escaped(cell.text)
    text = rf"\textbf{{{text}}}" if cell.best else text
    mark = f"$^{{{cell.mark}}}$" if cell.mark else ""
    interval = rf" {{\scriptsize ({_escaped(cell.interval)})}}" if cell.interval else ""
    return text + mark + interval


def _escaped(text: str) -> str:
    return re.sub(
        "[" + re.escape("".join(_SPECIAL)) + "]",
        lambda match: _SPECIAL[match[0]],
        " ".join(text.split()),
    )
