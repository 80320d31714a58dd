"""The report as one page that works offline: style, script and data are inside it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from string import Template

from keywright.report import browser, figures, tables
from keywright.report.findings import Findings
from keywright.report.policy import policy
from keywright.report.summary import summary
from keywright.report.values import Figure, Gallery
from keywright.tables import Cell, Table

MOST_DOCUMENTS = 1000
"""How many documents the browser holds by default: about 3 MB of text for two systems."""


def render(
    findings: Findings, card: Sequence[tuple[str, str]], documents: int = MOST_DOCUMENTS
) -> str:
    """The page; its browser holds the first `documents` documents."""
    style, script = page_style(), _resource("report.js")
    pages = browser.pages(findings, documents)
    # One system has nothing to overlap with, for example.
    sections = [section for section in _sections(findings) if section.contents]
    data = {"systems": findings.systems, "total": findings.documents, "documents": pages}
    return Template(_resource("report.html")).substitute(
        policy=policy(style, script),
        title=escape(f"Keyphrase report: {', '.join(findings.systems)}"),
        style=style,
        script=script,
        lead=_lead(findings),
        summary=_list(summary(findings), "summary"),
        left_out=_left_out(findings),
        main=table_html(tables.main(findings)),
        contents=_contents(sections),
        sections="\n".join(map(_section, sections)),
        browsing=escape(_browsing(findings, len(pages))),
        card=_card(card),
        data=browser.embedded(data),
    )


def page_style() -> str:
    """The style sheet of a page with tables and drawings."""
    return figure_style() + _resource("report.css")


def figure_style() -> str:
    """What drawings need of it, so that they can also be files of their own."""
    return _resource("figures.css")


def _resource(name: str) -> str:
    return files("keywright.report").joinpath("page", name).read_text(encoding="utf-8")


def _lead(findings: Findings) -> str:
    systems = "1 system" if len(findings.systems) == 1 else f"{len(findings.systems)} systems"
    gold = f" ({findings.without_gold:,} without gold)" if findings.without_gold else ""
    return escape(
        f"{systems} on {findings.documents:,} document{'s' * (findings.documents != 1)}{gold}, "
        f"protocol {findings.panel.protocol}"
    )


def _list(lines: Iterable[str], kind: str) -> str:
    return f'<ul class="{kind}">{"".join(f"<li>{escape(line)}</li>" for line in lines)}</ul>'


def _left_out(findings: Findings) -> str:
    if not findings.left_out:
        return ""
    return f"<h3>Left out, and why</h3>{_list(findings.left_out, 'notes')}"


# The sections of report.html itself; the others come after the first.
AROUND = {"summary": "Summary", "documents": "Documents", "card": "Run card"}


@dataclass(frozen=True)
class Section:
    """A part of the page; `name` is its anchor."""

    name: str
    title: str
    contents: tuple[Table | Gallery, ...] = ()


def _sections(findings: Findings) -> Iterable[Section]:
    """Every section between the main table and the browser."""
    yield Section(
        "measures",
        "Scores in detail",
        _made(
            figures.scores(findings),
            tables.differences(findings),
            tables.averages(findings),
            tables.cutoffs(findings),
        ),
    )
    yield Section(
        "calibration",
        "Calibration",
        _made(
            tables.calibration(findings),
            figures.reliability(findings),
            figures.perplexity(findings),
            figures.tokens(findings),
            figures.sections(findings),
        ),
    )
    yield Section(
        "overlap",
        "Overlap and agreement",
        _made(
            tables.agreement(findings),
            figures.overlap(findings),
            tables.agreed(findings),
            tables.complements(findings),
            tables.candidates(findings),
        ),
    )
    yield Section(
        "behaviour",
        "Numbers, diversity and distributions",
        _made(
            tables.numbers(findings),
            figures.numbers(findings),
            tables.diversity(findings),
            figures.distributions(findings),
        ),
    )


def _made(*contents: Table | Gallery | None) -> tuple[Table | Gallery, ...]:
    return tuple(content for content in contents if content is not None)


def _contents(sections: Sequence[Section]) -> str:
    """The table of contents: every section with what it shows."""
    first, *last = (Section(name, title) for name, title in AROUND.items())
    items = "".join(
        f'<li><a href="#{section.name}">{escape(section.title)}</a>{_entries(section)}</li>'
        for section in (first, *sections, *last)
    )
    return f'<nav aria-label="Contents"><ul class="contents">{items}</ul></nav>'


def _entries(section: Section) -> str:
    items = "".join(
        f'<li><a href="#{section.name}-{place}">{escape(content.title)}</a></li>'
        for place, content in enumerate(section.contents)
    )
    return f"<ul>{items}</ul>" if items else ""


def _section(section: Section) -> str:
    shown = [
        f'<div id="{section.name}-{place}">'
        f"{table_html(content) if isinstance(content, Table) else gallery_html(content)}</div>"
        for place, content in enumerate(section.contents)
    ]
    body = "\n".join(shown)
    return (
        f'<section id="{section.name}" aria-labelledby="{section.name}-heading">'
        f'<h2 id="{section.name}-heading">{escape(section.title)}</h2>\n{body}</section>'
    )


def table_html(table: Table, heading: bool = True) -> str:
    """A table with its title and notes."""
    kinds = [_kind(cell) for cell in table.rows[0]] if table.rows else [""] * len(table.columns)
    head = "".join(
        f'<th scope="col"{kind if place else ""}>{escape(column)}</th>'
        for place, (column, kind) in enumerate(zip(table.columns, kinds, strict=True))
    )
    rows = "".join(_row(row) for row in table.rows)
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in table.notes)
    title = f"<h3>{escape(table.title)}</h3>" if heading else ""
    label = escape(table.title, quote=True)
    return (
        f'{title}<div class="scroll" role="region" aria-label="{label}" tabindex="0">'
        f'<table class="sortable"><caption class="unseen">{escape(table.title)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{notes}"
    )


def _row(cells: Sequence[Cell]) -> str:
    first, *rest = cells
    return (
        f'<tr><th scope="row"{_sort_key(first)}>{escape(first.text)}</th>'
        f"{''.join(map(_cell, rest))}</tr>"
    )


def _cell(cell: Cell) -> str:
    text = f"<strong>{escape(cell.text)}</strong>" if cell.best else escape(cell.text)
    mark = f"<sup>{escape(cell.mark)}</sup>" if cell.mark else ""
    interval = f"<small>{escape(cell.interval)}</small>" if cell.interval else ""
    return f"<td{_kind(cell)}{_sort_key(cell)}>{text}{mark}{interval}</td>"


def _sort_key(cell: Cell) -> str:
    """The value to sort by, as JavaScript reads it."""
    if cell.value is None:
        return ""
    return f' data-value="{"-Infinity" if cell.value == -math.inf else float(cell.value)}"'


def _kind(cell: Cell) -> str:
    return "" if cell.value is None else ' class="number"'


def gallery_html(gallery: Gallery) -> str:
    """Drawings, each with the table of its values."""
    drawn = f'<div class="figures">{"".join(map(_figure, gallery.figures))}</div>'
    if gallery.folded:
        drawn = f"<details><summary>{len(gallery.figures)} figures</summary>{drawn}</details>"
    return f"<h3>{escape(gallery.title)}</h3><p>{escape(gallery.text)}</p>{drawn}"


def _figure(figure: Figure) -> str:
    return (
        f"<figure>{figure.svg}<figcaption>{escape(figure.title)}</figcaption>"
        f"<details><summary>Values</summary><p>{escape(figure.description)}</p>"
        f"{table_html(figure.table, heading=False)}</details></figure>"
    )


def _browsing(findings: Findings, shown: int) -> str:
    if shown == findings.documents:
        return f"All {shown:,} documents."
    return (
        f"The first {shown:,} of {findings.documents:,} documents; the numbers above are about "
        "all of them."
    )


def _card(card: Sequence[tuple[str, str]]) -> str:
    lines = "".join(f"<dt>{escape(what)}</dt><dd>{escape(value)}</dd>" for what, value in card)
    return f'<dl class="card">{lines}</dl>'
