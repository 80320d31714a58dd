"""Tables in every format: one way to write a value, one escape per format."""

from __future__ import annotations

import json

import pytest

from keywright import tables
from keywright.tables import Cell, Row, count, escape, lay_out, number, percent, render, titled

ROWS: list[Row] = [
    {"system": "a_b", "kind": "x|y", "phrases": 1234, "score": 0.5},
    {"system": "50%", "kind": "z", "phrases": 7, "score": 12.345},
]


def test_a_table_for_the_terminal_is_aligned() -> None:
    assert render(ROWS, "table").splitlines() == [
        "system  kind  phrases  score",
        "------  ----  -------  -----",
        "a_b     x|y     1,234   0.50",
        "50%     z           7  12.35",
    ]


def test_markdown_shows_special_characters_as_they_are() -> None:
    assert render(ROWS, "markdown").splitlines() == [
        "| system | kind | phrases | score |",
        "| --- | --- | ---: | ---: |",
        r"| a\_b | x\|y | 1,234 | 0.50 |",
        "| 50% | z | 7 | 12.35 |",
    ]


def test_latex_shows_special_characters_as_they_are() -> None:
    lines = render(ROWS, "latex").splitlines()
    assert lines[0] == r"\begin{tabular}{llrr}"
    assert r"a\_b & x\textbar{}y & 1,234 & 0.50 \\" in lines
    assert r"50\% & z & 7 & 12.35 \\" in lines


def test_programs_get_the_full_precision() -> None:
    assert json.loads(render(ROWS, "json")) == ROWS
    assert render(ROWS, "tsv").splitlines()[2] == "50%\tz\t7\t12.345"


def test_a_value_cannot_break_a_line_of_tsv() -> None:
    assert render([{"name": "a\tb\nc", "n": 1}], "tsv").splitlines() == ["name\tn", "a b c\t1"]


@pytest.mark.parametrize(
    ("text", "markdown", "latex"),
    [
        ("**bold**", r"\*\*bold\*\*", "**bold**"),
        ("<unk> [1] `x`", r"\<unk\> \[1\] \`x\`", r"\textless{}unk\textgreater{} [1] `x`"),
        ("~^\\", "~^\\\\", r"\textasciitilde{}\textasciicircum{}\textbackslash{}"),
        ("$x_1 & {y}#", r"$x\_1 & {y}#", r"\$x\_1 \& \{y\}\#"),
        ("two\nlines", "two lines", "two lines"),
        ("−3 ± 1", "−3 ± 1", r"$-$3 $\pm$ 1"),
    ],
)
def test_escapes(text: str, markdown: str, latex: str) -> None:
    assert escape(text, "markdown") == markdown
    assert escape(text, "latex") == latex


def test_the_best_cell_is_bold_and_marks_and_intervals_follow_the_number() -> None:
    cell = Cell("1.5", 1.5, interval="1 to 2", mark="*", best=True)
    written = [
        lay_out(["name", "score"], [[Cell("a"), cell]], layout).splitlines()
        for layout in ("table", "markdown", "latex")
    ]
    assert written[0][2] == "a     1.5* (1 to 2)"
    assert written[1][2] == r"| a | **1.5**\* (1 to 2) |"
    assert written[2][4] == r"a & \textbf{1.5}$^{*}$ {\scriptsize (1 to 2)} \\"


def test_titles_are_headings_or_comments() -> None:
    rows: list[Row] = [{"a": 1}]
    assert titled([("T_1", rows)], "markdown").startswith("### T\\_1\n\n| a |")
    assert titled([("T_1", rows)], "latex").startswith("% T_1\n\\begin")
    assert titled([("T_1", rows), ("T_2", rows)], "tsv") == "# T_1\na\n1\n\n# T_2\na\n1"
    assert titled([("T_1", rows)], "table").startswith("T_1\na\n")


def test_missing_numbers_are_dashes_that_sort_below_every_number() -> None:
    assert number(None) == Cell("–", float("-inf"))
    assert number(-1234.5) == Cell("−1,234.50", -1234.5)
    assert percent(0.123) == Cell("12.3", 12.3)
    assert count(1000) == Cell("1,000", 1000)


def test_an_unknown_format_is_an_error() -> None:
    with pytest.raises(ValueError, match="html"):
        render(ROWS, "html")


def test_a_table_without_rows() -> None:
    assert render([], "json") == "[]"
    assert render([], "tsv") == ""


def test_a_wide_table_is_folded_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"metric": "F1", **{f"system{n}": "12.34" for n in range(8)}}]
    monkeypatch.setattr(tables, "screen_width", lambda: 40)
    blocks = tables.render(rows, "table").split("\n\n")
    assert all(len(line) <= 40 for block in blocks for line in block.splitlines())
    assert all(block.startswith("metric  ") for block in blocks)
    assert " ".join(blocks).count("12.34") == 8
    monkeypatch.setattr(tables, "screen_width", lambda: None)
    assert len(tables.render(rows, "table").splitlines()) == 3


def test_a_column_that_is_wider_than_the_terminal_stays_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tables, "screen_width", lambda: 10)
    made = tables.render([{"name": "a" * 30, "text": "b" * 30, "n": 1}], "table")
    assert made.count("b" * 30) == 1
    assert made.count("a" * 30) == 2
