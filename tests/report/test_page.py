"""The page in a real browser: it opens without errors, sorts, filters, pages and fits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from keywright.report import html
from keywright.types import Document
from tests.chromium import BARRIERS, CONTRAST, EXECUTABLE, Page, axe_script, browser
from tests.report.toy import findings, panel, predictions

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(EXECUTABLE is None, reason="no Chromium is installed"),
]

HOSTILE = "</script><script>window.broken = 1</script><img src=x onerror='window.broken = 1'>\u2028"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """25 documents; in every fifth `alpha` is right and `beta` wrong, in the others both are."""
    folder = tmp_path_factory.mktemp("page")
    documents = [
        Document(
            id=f"d{number}",
            title=f"Trees 😀 number {number}",
            body=f"A tree has leaves. {HOSTILE if number == 1 else ''} Word{number} ends it.",
            keyphrases=("tree", "graph theory"),
        )
        for number in range(1, 26)
    ]
    alpha = predictions([["tree", "leaves", "graph"]] * 25, 0.8)
    beta = predictions([["leaves"] if n % 5 == 0 else ["tree"] for n in range(1, 26)], 0.6)
    path = folder / "report.html"
    path.write_text(html.render(findings(panel(documents, alpha=alpha, beta=beta)), []))
    with browser(folder / "profile") as made:
        made.look(1200)
        made.open(path)
        yield made


def ids(page: Page) -> list[str]:
    found: list[str] = page.run(
        "[...document.querySelectorAll('article .id')].map(e => e.textContent)"
    )
    return found


def reset(page: Page) -> None:
    page.run("document.getElementById('filters').reset()")
    page.choose("#kind", "all")


def test_right_and_wrong_filter_documents(page: Page) -> None:
    reset(page)
    page.choose("#right", "0")
    page.choose("#wrong", "1")
    assert ids(page) == ["d5", "d10", "d15", "d20", "d25"]
    status = page.run("document.getElementById('status').textContent")
    assert status == "5 of 25 documents with a gold phrase that alpha finds and beta misses."
    page.choose("#kind", "absent")
    assert ids(page) == []


def test_search_finds_words_of_the_text(page: Page) -> None:
    reset(page)
    page.choose("#search", "WORD17")
    page.run("new Promise(done => setTimeout(done, 400))")
    assert ids(page) == ["d17"]


def test_paging(page: Page) -> None:
    reset(page)
    assert ids(page) == [f"d{number}" for number in range(1, 11)]
    page.click("#pager-top button:last-child")
    page.click("#pager-bottom button:last-child")
    assert ids(page) == [f"d{number}" for number in range(21, 26)]
    assert page.run("document.querySelector('#pager-top button:last-child').disabled")


def test_phrases_are_marked_in_the_text_and_can_be_picked(page: Page) -> None:
    reset(page)
    marks = "[...document.querySelectorAll('article:nth-child(2) mark')].map(e => %s)"
    assert page.run(marks % "e.textContent + '|' + e.className") == [
        "Trees|correct", "tree|correct", "leaves|wrong",
    ]  # fmt: skip
    page.click("article:nth-child(2) button.chip.wrong")
    assert page.run(marks % "e.className")[-1] == "wrong chosen"
    page.click("article:nth-child(2) button.chip.wrong")
    assert page.run(marks % "e.className")[-1] == "wrong"


def test_verdicts_do_not_depend_on_colour_alone(page: Page) -> None:
    reset(page)
    signs = page.run(
        "['correct', 'partial', 'wrong', 'missed', 'ignored'].map(kind => getComputedStyle("
        "document.querySelector('#legend .' + kind), '::before').content)"
    )
    assert len(set(signs)) == 5


def test_tables_sort_by_a_click_on_a_header(page: Page) -> None:
    first = "document.querySelector('#summary tbody th').textContent"
    page.click("#summary thead th:nth-child(2) button")
    assert page.run(first) == "beta"  # present F1@M of 80.0 against 66.7
    page.click("#summary thead th:nth-child(2) button")
    assert page.run(first) == "alpha"
    assert page.run("document.querySelector('#summary th[aria-sort]').ariaSort") == "ascending"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [375, 1200])
def test_the_page_fits_and_can_be_read(page: Page, width: int, scheme: str) -> None:
    page.look(width, scheme=scheme)
    assert page.run("document.documentElement.scrollWidth") <= width
    contrasts = page.run(CONTRASTS)
    assert min(contrasts.values()) >= 4.5, contrasts
    page.look(1200)


def test_hostile_text_is_shown_and_not_executed(page: Page) -> None:
    reset(page)
    assert page.run("window.broken") is None
    shown = page.run("document.querySelector('article .text').textContent")
    assert HOSTILE in shown


def test_there_are_no_errors_and_no_requests(page: Page) -> None:
    assert page.complaints == []


# The contrast of text with what is behind it (WCAG 2.1), of the colours that carry meaning.
CONTRASTS = (
    "(() => {"
    + CONTRAST
    + """
  const found = {};
  const kinds = ["correct", "partial", "wrong", "missed", "ignored"];
  const chosen = ["p", "h1", "a[href='#card']", ".note", "thead th", "td small", "mark.correct",
    "mark.wrong", ...kinds.map((kind) => "#legend ." + kind)];
  for (const selector of chosen) {
    const element = document.querySelector(selector);
    found[selector] = contrast(element);
  }
  return found;
})()
"""
)


def test_lines_of_the_grid_do_not_cross_out_labels(page: Page) -> None:
    styles = page.run(
        "[...document.querySelectorAll('svg text')].map(e => getComputedStyle(e))"
        ".map(s => [s.paintOrder, s.stroke])"
    )
    behind = page.run("getComputedStyle(document.body).backgroundColor")
    assert styles
    assert all(order.startswith("stroke") and stroke == behind for order, stroke in styles)


@pytest.mark.parametrize(("width", "scheme"), [(375, "dark"), (1200, "light")])
def test_axe_finds_no_barriers(page: Page, width: int, scheme: str) -> None:
    script = axe_script()
    if script is None:
        pytest.skip("axe-playwright-python is not installed")
    page.look(width, scheme=scheme)
    page.run(f"{script}; undefined")
    assert page.run(BARRIERS) == []
    page.look(1200)
