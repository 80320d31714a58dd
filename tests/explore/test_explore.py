"""`keywright explore`: what the page says about a collection, and that it is safe."""

from __future__ import annotations

import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from keywright.cli import app
from keywright.data.documents import read_documents
from keywright.errors import DataError
from keywright.explore import trends
from keywright.explore.collect import Entry, Mention, date_in, dates_of, is_predictions, read
from keywright.explore.layout import ASPECT, LETTER, LINE, placed
from keywright.explore.merging import Merging, shipped_meaning
from keywright.explore.page import render
from keywright.explore.survey import survey
from tests.chromium import BARRIERS, CONTRAST, EXECUTABLE, axe_script, browser

MEANING = shipped_meaning()


def entry(name: str, *phrases: str, date: str | None = None) -> Entry:
    return Entry(name, tuple(Mention(phrase, 0.5) for phrase in phrases), date)


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2024-05-17-notes.md", "2024-05"),
        ("notes_20240517.txt", "2024-05"),
        ("2024/notes.md", "2024"),
        ("2024-13.txt", "2024"),
        ("report 1999", "1999"),
        ("2024", "2024"),
        ("12024", None),
        ("v20241", None),
        ("ISO 9001", None),
        ("", None),
    ],
)
def test_dates_in_names(text: str, date: str | None) -> None:
    assert date_in(text) == date


def test_phrases_that_mean_the_same_are_counted_together() -> None:
    merging = Merging(["neural networks", "neuronal network"], MEANING)
    assert merging.key("Neural network") == merging.key("neuronal networks")
    apart = [("type 1 diabetes", "type 2 diabetes"), ("fertile soil", "infertile soil")]
    apart += [("OFDM", "OFDMA"), ("heat pump", "heat pumps in houses")]
    for one, other in apart:
        merging = Merging([one, other], MEANING)
        assert merging.key(one) != merging.key(other), (one, other)


def test_without_meaning_only_stems_are_compared() -> None:
    merging = Merging(["neural networks", "neuronal network"], None)
    assert merging.key("neural networks") == merging.key("Neural network")
    assert merging.key("neural networks") != merging.key("neuronal networks")


def test_a_survey() -> None:
    found = survey(
        [
            entry("a", "heat pumps", "Heat pump", "radiators"),
            entry("b", "heat pump", "radiators"),
            entry("c", "heat pump"),
            entry("d"),
        ],
        MEANING,
    )
    pump, radiator = found.phrases
    assert pump.text == "heat pump"
    assert {name.lower() for name in pump.spellings} == {"heat pump", "heat pumps"}
    assert [document for document, _ in pump.documents] == [0, 1, 2]
    assert radiator.neighbours == (0,)
    assert found.together == {(0, 1): 2}
    assert found.distinct == 2
    assert found.periods == ()


def test_periods_are_months_of_a_short_time_and_years_of_a_long_one() -> None:
    assert trends.periods(["2024-11"] * 9 + ["2025-02"]) == [
        "2024-11", "2024-12", "2025-01", "2025-02",
    ]  # fmt: skip
    assert trends.periods(["2020-11"] * 9 + ["2023-02"]) == ["2020", "2021", "2022", "2023"]
    assert trends.periods(["2020"] * 9) == []
    assert trends.periods(["2020"] * 20) == []


def test_rising() -> None:
    known = ["2020", "2021", "2022"]
    totals = Counter(dict.fromkeys(known, 50))
    counts = {
        0: Counter({"2020": 5, "2021": 5, "2022": 5}),
        1: Counter({"2020": 1, "2021": 1, "2022": 12}),
        2: Counter({"2020": 12, "2021": 1, "2022": 1}),
        3: Counter({"2022": 2}),
    }
    assert [phrase for phrase, _ in trends.rising(counts, totals, known)] == [1]


def test_labels_of_the_map_are_apart_and_inside() -> None:
    labels = [f"a phrase number {number}" for number in range(40)]
    lines = {(a, b): 0.5 for a in range(0, 40, 4) for b in range(a + 1, a + 4)}
    places = placed(labels, lines)
    assert (places >= 0).all()
    assert (places <= np.array([1, ASPECT])).all()
    size = np.array([len(labels[0]) * LETTER, LINE]) * 0.8
    overlap = (np.abs(places[:, None] - places[None]) < size).all(axis=2)
    np.fill_diagonal(overlap, False)
    assert not overlap.any()
    near = np.linalg.norm(places[0] - places[1:4], axis=1).mean()
    assert near < np.linalg.norm(places[0] - places[4:], axis=1).mean()
    assert (placed(labels, lines) == places).all()


def test_a_map_of_one_or_no_phrase() -> None:
    assert placed([], {}).shape == (0, 2)
    assert placed(["alone"], {}).shape == (1, 2)


class Seen(HTMLParser):
    """Tags with their attributes, and text outside scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


HOSTILE = '<img src=x onerror="alert(1)"></script>"\'&${title}'


def test_everything_is_escaped() -> None:
    entries = [
        entry(f"{HOSTILE} {n}", f"heat {HOSTILE}", "pump", date="2024-01") for n in range(12)
    ]
    page = render(survey(entries, None), HOSTILE)
    seen = Seen(page)
    assert [tag for tag, _ in seen.tags if tag in ("img", "iframe", "object")] == []
    assert [tag for tag, _ in seen.tags].count("script") == 1
    assert not any(name.startswith("on") or name == "style" for _, a in seen.tags for name in a)
    assert f"Keyphrases of {HOSTILE}" in seen.text
    assert f"heat {HOSTILE}" in seen.text
    links = [a["href"] for tag, a in seen.tags if tag == "a"]
    assert all(link and link.startswith("#") for link in links)
    assert re.search(r"https?:", page) is None


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(12):
        field = "heat pumps" if number < 8 else "solar panels"
        text = f"{field.title()} in town {number}\n\nWe measured {field} in old houses. " * 2
        (folder / f"20{10 + number}-notes.txt").write_text(text)
    return folder


def test_a_folder(notes: Path, tmp_path: Path) -> None:
    (notes / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    output = tmp_path / "page.html"
    done = CliRunner().invoke(app, ["explore", str(notes), "--output", str(output)])
    assert done.exit_code == 1  # one file could not be read
    assert "broken.pdf" in done.output
    page = Seen(output.read_text(encoding="utf-8"))
    assert "12 documents" in page.text
    assert "heat pumps" in page.text.lower()
    assert "2010 to 2021" in page.text


def test_what_generate_wrote(notes: Path, tmp_path: Path) -> None:
    written, output = tmp_path / "found.jsonl", tmp_path / "page.html"
    runner = CliRunner()
    options = ["--format", "jsonl", "--output", str(written)]
    assert runner.invoke(app, ["generate", str(notes), *options]).exit_code == 0
    assert is_predictions(written)
    assert len(list(read(written))) == 12
    assert runner.invoke(app, ["explore", str(written), "--output", str(output)]).exit_code == 0
    assert "12 documents" in Seen(output.read_text(encoding="utf-8")).text


def test_predictions_with_their_documents(tmp_path: Path) -> None:
    documents, predictions = tmp_path / "docs.jsonl", tmp_path / "preds.jsonl"
    lines = [{"id": str(n), "title": f"Title {n}", "abstract": "a", "year": 2020} for n in range(3)]
    lines[2]["year"] = 2022
    documents.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = [{"document_id": str(n), "phrases": [{"text": "heat pump"}]} for n in (2, 0, 1)]
    predictions.write_text("".join(json.dumps(line) + "\n" for line in found))
    dates = dates_of(documents)
    assert dates == {"0": "2020", "1": "2020", "2": "2022"}
    entries = list(read(predictions, read_documents(documents), dates))
    assert [(one.name, one.date) for one in entries] == [
        ("Title 2", "2022"), ("Title 0", "2020"), ("Title 1", "2020"),
    ]  # fmt: skip
    output = tmp_path / "page.html"
    arguments = ["explore", str(predictions), "--documents", str(documents)]
    done = CliRunner().invoke(app, [*arguments, "--output", str(output)])
    assert done.exit_code == 0, done.output
    assert "Title 2" in Seen(output.read_text(encoding="utf-8")).text


def test_bad_input_leaves_no_page(tmp_path: Path) -> None:
    output = tmp_path / "page.html"
    with pytest.raises(DataError, match="no keyphrases"):
        survey([entry("a")], None)
    (tmp_path / "a.txt").write_text("Some words about heat pumps.")
    for arguments in (
        [str(tmp_path / "missing")],
        [str(tmp_path / "a.txt"), "--documents", str(tmp_path / "a.txt")],
    ):
        done = CliRunner().invoke(app, ["explore", *arguments, "--output", str(output)])
        assert done.exit_code != 0
    assert not output.exists()


# Whether the phrase that was clicked is open soon after.
OPENED = """new Promise((resolve) => {
  let left = 200;
  const look = () => {
    const row = location.hash && document.querySelector(`${location.hash} details`);
    if (row && row.open) resolve(true);
    else if (left--) setTimeout(look, 20);
    else resolve(false);
  };
  look();
})"""
LOW_CONTRAST = f"""(() => {{ {CONTRAST}
  return [...document.querySelectorAll("p, a, span, h1, h2")]
    .filter((e) => e.closest("svg") === null && e.textContent && contrast(e) < 4.5)
    .map((e) => e.textContent);
}})()"""


@pytest.mark.slow
@pytest.mark.skipif(EXECUTABLE is None, reason="needs Chromium")
def test_in_a_browser(tmp_path: Path) -> None:
    phrases = ["heat pumps", "radiators", "a very long phrase about old houses", "flow temperature"]
    entries = [
        entry(f"Document {n}", *phrases[n % 3 :], f"phrase {n}", date=f"20{10 + n % 9}")
        for n in range(60)
    ]
    page = tmp_path / "page.html"
    page.write_text(render(survey(entries, None), "a collection"), encoding="utf-8")
    axe = axe_script()
    with browser(tmp_path / "profile") as tab:
        for width in (375, 1200):
            for scheme in ("light", "dark"):
                tab.look(width, 900, scheme)
                tab.open(page)
                assert tab.run("document.documentElement.scrollWidth") <= width
                low = tab.run(LOW_CONTRAST)
                assert low == []
                if axe is not None and (width, scheme) in ((375, "dark"), (1200, "light")):
                    tab.run(f"{axe}; undefined")
                    assert tab.run(BARRIERS) == []
        assert tab.run("document.querySelectorAll('#phrases > li:not([hidden])').length") == 30
        tab.look(375)
        tab.open(page)
        assert tab.run("document.querySelector('.map').scrollLeft") > 100  # the middle of the map
        tab.run("document.querySelector('#phrases details').open = true")
        # Numbers of two digits, which stand in the padding of the list, do not leave the page.
        assert (
            tab.run(
                "parseFloat(getComputedStyle(document.querySelector('details ol')).paddingLeft)"
            )
            >= 32
        )
        tab.choose("#search", "radiat")
        assert tab.run("document.querySelectorAll('#phrases > li:not([hidden])').length") == 1
        tab.click(".map a")
        assert tab.run(OPENED)
        assert tab.complaints == []
