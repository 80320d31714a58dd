"""Highlights in a PDF: where the phrases are, with their probabilities."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from keywright.generation.annotate import annotated
from keywright.generation.keyphrases import Keyphrase
from keywright.sources import read_content
from tests.cli.conftest import Run, keywright  # noqa: F401
from tests.sources.pdf_maker import Text, make_pdf

PAGES = (
    [Text("Dancing bees", 60, 720, 20), Text("Heat pumps warm the dancing bees.", 60, 690)],
    [Text("On this page, too, Heat pumps hum.", 60, 690)],
)


def test_every_place_is_highlighted_with_the_probability() -> None:
    pypdf = pytest.importorskip("pypdf", reason="pypdf is not installed")
    content = make_pdf(*PAGES)
    document = read_content(content, "paper.pdf")
    at = [document.text.index("Heat pumps"), document.text.rindex("Heat pumps")]
    phrases = [
        Keyphrase(
            text="Heat pumps",
            probability=0.42,
            present=True,
            places=tuple((start, start + 10) for start in at),
        ),
        Keyphrase(text="insulation", probability=0.1, present=False),
    ]
    pages = pypdf.PdfReader(io.BytesIO(annotated(content, document, phrases))).pages
    found = [[note.get_object() for note in page.get("/Annots", [])] for page in pages]
    assert [[note["/Contents"] for note in notes] for notes in found] == [["Heat pumps: 42%"]] * 2
    note = found[0][0]
    assert note["/Subtype"] == "/Highlight"
    left, bottom, right, top = map(float, note["/Rect"])
    assert 59 < left < 62 and 100 < right < 125  # noqa: PT018
    assert 685 < bottom < 691 < top < 702
    assert len(note["/QuadPoints"]) == 8
    assert "Heat pumps warm" in pages[0].extract_text()


def test_the_command_line(keywright: Run, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "paper.pdf").write_bytes(make_pdf(*PAGES))
    (tmp_path / "notes.txt").write_text("Heat pumps warm old houses.")
    out = tmp_path / "marked.pdf"
    common = ("--model", "textrank", "--annotate", out)
    done = keywright("generate", tmp_path / "paper.pdf", *common)
    assert done.returncode == 0, done.stderr
    assert b"/Highlight" in out.read_bytes()
    wrong = keywright("generate", tmp_path / "notes.txt", *common)
    assert wrong.returncode == 2
    assert "--annotate needs exactly one file, a PDF" in wrong.stderr
    before = (tmp_path / "paper.pdf").read_bytes()
    paper = tmp_path / "paper.pdf"
    same = keywright("generate", paper, "--model", "textrank", "--annotate", paper)
    assert same.returncode == 2
    assert "would replace the PDF itself; give another name" in same.stderr
    assert paper.read_bytes() == before
