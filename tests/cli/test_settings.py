"""`keywright.toml` and `[tool.keywright]`: defaults for options; and the text with its phrases."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from keywright.cli import _settings, generate
from keywright.cli._jobs import Found
from keywright.errors import ConfigError
from keywright.generation.keyphrases import Keyphrase
from keywright.types import Document
from tests.cli.conftest import Run

TEXT = "Heat pumps warm old houses.\x1b[31m Heat pumps save energy."


def test_defaults_come_from_the_nearest_file(keywright: Run, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text(TEXT)
    (tmp_path / "keywright.toml").write_text(
        '[generate]\nmodel = "textrank"\ntop = 1\nformat = "text"\n'
    )
    inner = tmp_path / "inner"
    inner.mkdir()
    done = keywright("generate", "../notes.txt", cwd=inner)
    assert (done.returncode, done.stdout.count(";")) == (0, 0), done.stderr
    more = keywright("generate", "../notes.txt", "--top", "2", cwd=inner)
    assert more.stdout.count(";") == 1
    (inner / "pyproject.toml").write_text("[tool.keywright.generate]\ntopp = 1\n")
    wrong = keywright("generate", "../notes.txt", cwd=inner)
    assert wrong.returncode == 2
    assert wrong.stderr.count("\n") == 1
    assert "unknown option 'topp' of generate; did you mean 'top'?" in wrong.stderr


def test_files_are_read_in_turn(tmp_path: Path) -> None:
    assert _settings.load(tmp_path / "none") == _settings.load(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[tool.keywright]\ngenerate = {top = 3}\n")
    assert _settings.load(tmp_path) == {"generate": {"top": 3}}
    (tmp_path / "keywright.toml").write_text("[generate]\ntop = 4\n")
    assert _settings.load(tmp_path) == {"generate": {"top": 4}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[generate", "is not valid TOML"),
        ("top = 3", "top is not a table; write options below"),
        ("a = " + "[" * 5000, "is not valid TOML"),
    ],
)
def test_bad_settings(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "keywright.toml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        _settings.load(tmp_path)


def test_the_text_is_shown_with_its_phrases(keywright: Run) -> None:
    done = keywright("generate", "-", "--model", "textrank", "--show", "text", input=TEXT)
    assert done.returncode == 0, done.stderr
    assert "**Heat pumps" in done.stdout
    assert "\x1b" not in done.stdout
    wrong = keywright("generate", "-", "--show", "text", "--format", "jsonl", input=TEXT)
    assert wrong.returncode == 2
    assert "--show text is for people" in wrong.stderr


def test_colours_follow_the_probability_and_escapes_are_removed() -> None:
    document = Document(title="", body=TEXT)
    phrases = [
        Keyphrase(text="Heat pumps", probability=0.4, present=True, places=((0, 10),)),
        Keyphrase(text="insulation", probability=0.05, present=False),
    ]
    found = [Found(document, phrases, [])]
    text, absent = generate._as_marked(found, colour=True)
    assert text.startswith("\x1b[1;32mHeat pumps\x1b[0m warm old houses. [31m")
    assert absent.strip() == "Not in the text: \x1b[36minsulation\x1b[0m"
    text, _ = generate._as_marked(found, colour=False)
    assert "\x1b" not in text


@pytest.mark.parametrize("colour", [True, False])
def test_a_terminal_gets_absent_phrases_on_lines_that_fit(colour: bool) -> None:
    names = ["thermal insulation", "energy", "heat", "demand side management", "x"]
    phrases = [Keyphrase(text=name, probability=0.2, present=False) for name in names]
    found = [Found(Document(title="", body=TEXT), phrases, [])]
    _, absent = generate._as_marked(found, colour=colour, width=26)
    assert absent.count("\x1b[0m") == (len(names) if colour else 0)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", absent).strip("\n")
    assert all(cell_len(line) <= 26 for line in plain.split("\n"))
    unmarked = " ".join(plain.replace("**", "").split())
    assert unmarked == f"Not in the text: {', '.join(names)}"


@pytest.mark.parametrize("colour", [True, False])
def test_a_terminal_gets_lines_that_fit(colour: bool) -> None:
    """Paragraphs are folded between words, and their own line ends are forgotten."""
    body = "The old houses need large radiators and also very\nquiet heat pumps, 熱泵熱泵熱泵 too."
    document = Document(title="On heat", body=f"{body}\n\nA list:\nshort")
    start = document.text.index("heat pumps")
    phrases = [
        Keyphrase(text="heat pumps", probability=0.4, present=True, places=((start, start + 10),))
    ]
    text, _ = generate._as_marked([Found(document, phrases, [])], colour=colour, width=30)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    lines = plain.split("\n")
    assert all(cell_len(line) <= 30 for line in lines)
    assert lines[:2] == ["On heat", "The old houses need large"]
    assert lines[-3:] == ["", "A list:", "short"]
    assert plain.replace("**", "").split() == document.text.split()
    (unchanged, _) = generate._as_marked([Found(document, phrases, [])], colour=colour)
    assert "also very\nquiet" in unchanged


def test_no_color_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert generate._has_colours()
    monkeypatch.setenv("NO_COLOR", "1")
    assert not generate._has_colours()
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setattr("sys.stdout.isatty", lambda: False, raising=False)
    assert not generate._has_colours()
