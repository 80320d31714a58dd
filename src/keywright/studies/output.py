"""What a study leaves: tables as text, Markdown, LaTeX and a page, figures, learning curves."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import IO, cast

import msgspec

from keywright.analysis import curve_plots, curves, plotting
from keywright.files import atomic_write
from keywright.report import html
from keywright.report.svg import standalone
from keywright.report.values import Gallery
from keywright.studies.definition import Study
from keywright.studies.plan import Plan
from keywright.studies.results import Results
from keywright.tables import Layout, Table, heading, lay_out, remark

CURVES, FIGURES, PAGE, RESULTS = "curves.svg", "figures", "index.html", "results.json"
LAYOUTS: dict[str, Layout] = {"tables.txt": "table", "tables.md": "markdown", "tables.tex": "latex"}
# Learning curves are drawn for white paper.
_STYLE = "img { max-width: 100%; background: #fff } td:not(.number) { max-width: 40rem }"
_LEARNING = (
    f'<h3>Learning curves</h3><img src="{CURVES}" alt="Learning curves of the trained systems">'
)


def write(
    results: Results, tables: Sequence[Table], galleries: Sequence[Gallery] = ()
) -> list[Path]:
    """Write everything to the folder of the study; returns the files."""
    folder = results.plan.folder
    drawn = _draw_curves(results.plan)
    contents = {
        name: document(results.study, tables, layout) + "\n" for name, layout in LAYOUTS.items()
    }
    contents[RESULTS] = msgspec.json.format(msgspec.json.encode(results.scores)).decode() + "\n"
    contents[PAGE] = page(results.study, tables, galleries, curves=drawn)
    style = html.figure_style()
    for gallery in galleries:
        for figure in gallery.figures:
            contents[f"{FIGURES}/{figure.name}.svg"] = standalone(figure.svg, style)
    if any(gallery.figures for gallery in galleries):
        (folder / FIGURES).mkdir(exist_ok=True)
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


def page(
    study: Study, tables: Sequence[Table], galleries: Sequence[Gallery], *, curves: bool
) -> str:
    """One page, without scripts; everything in it is escaped."""
    title = escape(study.title)
    note = f'<p class="lead">{escape(study.note)}</p>' if study.note else ""
    drawn = [*map(html.gallery_html, galleries), *([_LEARNING] if curves else [])]
    figures = f"<h2>Figures</h2>{''.join(drawn)}" if drawn else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{html.page_style()}{_STYLE}</style></head>"
        f"<body><h1>{title}</h1>{note}"
        f"<h2>Tables</h2>{''.join(map(html.table_html, tables))}{figures}</body></html>\n"
    )


def _draw_curves(plan: Plan) -> bool:
    """The learning curves of all trained systems; False if there is none."""
    if not plan.runs:
        return False
    logs = {name: curves.read_run(run) for name, run in plan.runs.items()}
    values = curves.selected_values(list(logs.values()), ())
    shown = dict(list(logs.items())[: curve_plots.MOST_RUNS])
    plotting.save(curve_plots.draw(shown, values), plan.folder / CURVES)
    return True
