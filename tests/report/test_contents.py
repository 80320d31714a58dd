"""The table of contents leads somewhere, and what rests on few phrases says so."""

from __future__ import annotations

import re

from keywright.report import figures, html, tables
from keywright.types import Document
from tests.report.toy import findings, panel, predictions

# 60 phrases with confidence 0.8, half of them right, and 3 with confidence 0.35.
MANY = tuple(
    Document(id=f"d{n}", title="", body="a tree has leaves and roots", keyphrases=("tree",))
    for n in range(1, 31)
)


def found():  # type: ignore[no-untyped-def]
    sure = predictions([["tree", "leaves"]] * 30, 0.8)
    unsure = predictions([["roots"]] * 3, 0.35)
    joined = [
        type(both)(document_id=both.document_id, phrases=both.phrases + more)
        for both, more in zip(
            sure, [prediction.phrases for prediction in unsure] + [()] * 27, strict=True
        )
    ]
    return findings(panel(MANY, only=joined))


def test_every_entry_leads_to_its_heading() -> None:
    page = html.render(found(), [])
    contents = page[page.index('<nav aria-label="Contents">') : page.index("</nav>")]
    links = dict(re.findall(r'<a href="#([\w-]+)">([^<]+)</a>', contents))
    assert {"summary", "measures", "calibration", "documents", "card"} <= links.keys()
    assert "Reliability" in links.values()
    for name, title in links.items():
        place = page.index(f'id="{name}"')
        assert title in page[place : place + 400], name
        assert page.count(f'id="{name}"') == 1


def test_bins_of_few_phrases_are_hollow_and_have_an_interval() -> None:
    gallery = figures.reliability(found())
    assert gallery is not None
    (figure,) = [drawn for drawn in gallery.figures if "present" in drawn.title]
    assert len(re.findall(r'<rect class="present few"', figure.svg)) == 1
    assert len(re.findall(r'<rect class="present"', figure.svg)) == 1
    assert figure.svg.count('class="whisker"') == 1
    assert "fewer than 10" in gallery.text


def test_the_maximum_error_says_how_many_phrases_it_is_about() -> None:
    table = tables.calibration(found())
    assert table is not None
    place = table.columns.index("MCE")
    present = next(row for row in table.rows if row[1].text == "present")
    assert re.fullmatch(r"\d+\.\d \(n=3\)", present[place].text)
    assert any("n phrases" in note for note in table.notes)


def test_a_single_system_has_no_section_about_overlap() -> None:
    alone = html.render(found(), [])
    assert "Overlap and agreement" not in alone
    assert 'id="overlap"' not in alone
    both = panel(MANY, good=predictions([["tree"]] * 30), poor=predictions([["roots"]] * 30))
    assert '<a href="#overlap">Overlap and agreement</a>' in html.render(findings(both), [])
