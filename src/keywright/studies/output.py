"""What a study leaves: tables as text, Markdown, LaTeX and a page, and learning curves."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import IO, cast

import msgspec

from keywright.analysis import curve_plots, curves, plotting
from keywright.files import atomic_write
from keywright.studies.definition import Study
from keywright.studies.plan import Plan
from keywright.studies.results import Results
from keywright.tables import Cell, Layout, Table, heading, lay_out, remark

CURVES, PAGE, RESULTS = "curves.svg", "index.html", "results.json"
LAYOUTS: dict[str, Layout] = {"tables.txt": "table", "tables.md": "markdown", "tables.tex": "latex"}
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse } .scroll { overflow-x: auto }
th, td { padding: .25rem .75rem; border-bottom: 1px solid #ccc; text-align: left }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums }
.note { color: #555; font-size: .875rem } img { max-width: 100%; background: #fff }
@media (prefers-color-scheme: dark) {
  body { background: #111; color: #eee } .note { color: #aaa } th, td { border-color: #444 }
}
"""


def write(results: Results, tables: Sequence[Table]) -> list[Path]:
    """Write everything to the folder of the study; returns the files."""
    folder = results.plan.folder
    drawn = _draw_curves(results.plan)
    contents = {
        name: document(results.study, tables, layout) + "\n" for name, layout in LAYOUTS.items()
    }
    contents[RESULTS] = msgspec.json.format(msgspec.json.encode(results.scores)).decode() + "\n"
    contents[PAGE] = page(results.study, tables, curves=drawn)
    for name, text in contents.items():
        with atomic_write(folder / name) as file:
            cast(IO[str], file).write(text)
    return [folder / name for name in (*contents, *([CURVES] if drawn else []))]


def document(study: Study, tables: Sequence[Table], layout: Layout) -> str:
    """All tables, each with its title and notes."""
    blocks = [heading(study.title, layout)] if layout != "markdown" else [f"## {study.title}"]
    if study.note:
        blocks.append(remark(study.note, layout))
    for table in tables:
        blocks.append(heading(table.title, layout))
        blocks.append(lay_out(table.columns, table.rows, layout))
        blocks += [remark(note, layout) for note in table.notes]
    return "\n\n".join(blocks)


def page(study: Study, tables: Sequence[Table], *, curves: bool) -> str:
    """One page, without scripts; everything in it is escaped."""
    figure = (
        f'<h2>Learning curves</h2><img src="{CURVES}" alt="Learning curves of the trained systems">'
        if curves
        else ""
    )
    title = escape(study.title)
    note = f"<p>{escape(study.note)}</p>" if study.note else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style></head>"
        f"<body><h1>{title}</h1>{note}{''.join(map(_table, tables))}{figure}</body></html>\n"
    )


def _table(table: Table) -> str:
    numbers = [_is_number(cell) for cell in table.rows[0]] if table.rows else []
    head = "".join(
        f'<th scope="col"{" class=number" if place < len(numbers) and numbers[place] else ""}>'
        f"{escape(column)}</th>"
        for place, column in enumerate(table.columns)
    )
    rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in table.rows)
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in table.notes)
    return (
        f'<h2>{escape(table.title)}</h2><div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{notes}"
    )


def _is_number(cell: Cell) -> bool:
    return cell.value is not None


def _cell(cell: Cell) -> str:
    text = f"<strong>{escape(cell.text)}</strong>" if cell.best else escape(cell.text)
    mark = f"<sup>{escape(cell.mark)}</sup>" if cell.mark else ""
    return f"<td{' class=number' if _is_number(cell) else ''}>{text}{mark}</td>"


def _draw_curves(plan: Plan) -> bool:
    """The learning curves of all trained systems; False if there is none."""
    if not plan.runs:
        return False
    logs = {name: curves.read_run(run) for name, run in plan.runs.items()}
    values = curves.selected_values(list(logs.values()), ())
    shown = dict(list(logs.items())[: curve_plots.MOST_RUNS])
    plotting.save(curve_plots.draw(shown, values), plan.folder / CURVES)
    return True
