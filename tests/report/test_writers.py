"""The page, Markdown and LaTeX: complete, self-contained, and safe with any input."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from keywright.analysis.systems import Source, read_panel
from keywright.report import card, figures, html, latex, markdown, tables
from keywright.report.findings import Findings
from keywright.report.svg import ticks
from keywright.report.values import Gallery
from keywright.tables import Cell
from keywright.types import Document
from tests.report.toy import GOOD, POOR, both, findings, panel, predictions

HOSTILE = "</script><script>alert('x')</script><img src=x onerror=alert(1)> & \u2028 \"quoted\""


def hostile() -> Findings:
    document = Document(id=f"d1 {HOSTILE}", title=HOSTILE, body=HOSTILE, keyphrases=(HOSTILE, "x"))
    other = Document(id="d2", title="y", body="z", keyphrases=("y",))
    lists = [[HOSTILE, "script"], ["y"]]
    systems: dict[str, Source] = {HOSTILE: lists, "b": lists}
    return findings(read_panel([document, other], systems, match="line"))


class Outline(HTMLParser):
    """Elements with their attributes, ids and text outside scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside not in ("script", "style"):
            self.text.append(data)


def test_the_page_refers_to_nothing_outside_itself() -> None:
    text = html.render(both(), [])
    for tag, attributes in Outline(text).tags:
        assert tag not in ("link", "img", "iframe", "object", "base")
        assert "src" not in attributes
        assert (attributes.get("href") or "#").startswith("#")
        assert not any(name.startswith("on") or name == "style" for name in attributes)
    assert "http" not in re.sub(r"http-equiv", "", text)


def test_ids_are_unique_and_links_have_targets() -> None:
    tags = Outline(html.render(both(), [])).tags
    ids = [attributes["id"] for _, attributes in tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in tags:
        for name in ("href", "aria-labelledby"):
            for target in (attributes.get(name) or "").split():
                assert target.removeprefix("#") in ids


def test_hostile_text_adds_no_element() -> None:
    found = hostile()
    text = html.render(found, [("command", HOSTILE)])
    outline = Outline(text)
    assert [tag for tag, _ in outline.tags].count("script") == 2
    assert not any(tag == "img" for tag, _ in outline.tags)
    assert HOSTILE.replace("\u2028", "") in "".join(outline.text).replace("\u2028", "")


def test_the_summary_comes_before_the_first_table() -> None:
    text = html.render(both(), [])
    assert text.index("do not differ significantly") < text.index("<table")


def test_every_figure_is_valid_svg_with_a_description_and_values() -> None:
    found = both()
    galleries = [
        figures.scores(found), figures.reliability(found), figures.perplexity(found),
        figures.tokens(found), figures.sections(found), figures.overlap(found),
        figures.numbers(found), figures.distributions(found),
    ]  # fmt: skip
    assert all(isinstance(gallery, Gallery) for gallery in galleries)
    for gallery in galleries:
        assert gallery is not None
        for figure in gallery.figures:
            root = ElementTree.fromstring(figure.svg)
            assert root[0].tag == "title"
            assert root[1].tag == "desc"
            assert root[1].text == figure.description
            assert figure.table.rows
            assert "nan" not in figure.svg


def test_reliability_bars_show_accuracy_and_counts() -> None:
    gallery = figures.reliability(both())
    assert gallery is not None
    figure = next(figure for figure in gallery.figures if figure.title.startswith("good, present"))
    full = [row for row in figure.table.rows if row[1].value]
    # Five present phrases of confidence 0.8; all but greedy algorithm are right.
    assert [[cell.text for cell in row] for row in full] == [["80 to 90", "5", "80.0", "80.0"]]


def test_without_probabilities_no_calibration_figure_is_drawn() -> None:
    found = findings(panel(good=predictions(GOOD), poor=predictions(POOR)))
    assert figures.reliability(found) is None
    assert figures.tokens(found) is None
    assert tables.calibration(found) is None
    assert "no phrase has token probabilities" in html.render(found, [])


def test_the_best_is_bold_and_marks_are_explained() -> None:
    table = tables.main(both())
    assert table.columns[1:] == (
        "present F1@M", "present F1@5", "present F1@O", "absent F1@M", "absent F1@5", "absent F1@O",
    )  # fmt: skip
    good, poor = table.rows
    assert good[1].best
    assert not poor[1].best
    assert any("Macro averages" in note for note in table.notes)
    assert any("Holm" in note for note in table.notes)


def test_a_limited_browser_says_so() -> None:
    text = html.render(both(), [], documents=2)
    assert "The first 2 of 3 documents" in text
    assert '"d3"' not in text


def test_markdown_tables_have_as_many_cells_as_columns() -> None:
    text = markdown.render(hostile(), [("command", "a `b` | c")])
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert lines
    blocks = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    for block in blocks:
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(widths) == 1
    assert "<script>" not in text


def test_latex_escapes_special_characters() -> None:
    made = panel(**{"a_b & 50% {c}": predictions(GOOD), "~^\\": predictions(POOR)})
    text = latex.render(findings(made), [])
    assert r"a\_b \& 50\% \{c\}" in text
    assert r"\textasciitilde{}\textasciicircum{}\textbackslash{}" in text
    assert (
        text.count(r"\begin{table}")
        == text.count(r"\end{table}")
        == len(tables.every(findings(made)))
    )


def test_the_same_input_gives_the_same_page() -> None:
    assert html.render(both(), []) == html.render(both(), [])


def test_the_run_card_has_hashes_signature_seed_and_command(tmp_path: Path) -> None:
    source, gold, made = tmp_path / "t_src.txt", tmp_path / "t_trg.txt", tmp_path / "a.jsonl"
    for path in (source, gold, made):
        path.write_text("abc")
    files = card.files(source, {"a": made})
    assert [file.role for file in files] == ["documents", "gold", "predictions of a"]
    # The published SHA-256 of "abc".
    assert files[0].sha256.startswith("ba7816bf8f01cfea414140de5dae2223")
    lines = dict(card.entries(both(), files, ["keywright", "report", "a b"]))
    assert lines["protocol signature"].startswith("protocol:chan19|")
    assert lines["seed"] == "0"
    assert lines["command"] == "keywright report 'a b'"
    assert "numpy" in lines["versions"]


@pytest.mark.parametrize(
    ("high", "expected"),
    [(100, [0, 25, 50, 75, 100]), (7, [0, 2, 4, 6, 8]), (0, [0, 1]), (0.3, [0, 0.1, 0.2, 0.3])],
)
def test_ticks_are_round_and_reach_the_highest_value(high: float, expected: list[float]) -> None:
    assert ticks(high) == pytest.approx(expected)


def test_a_dash_sorts_below_every_number() -> None:
    assert (
        html._cell(Cell("–", float("-inf"))) == '<td class="number" data-value="-Infinity">–</td>'
    )
