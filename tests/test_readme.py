"""The commands and code of README run, and its pictures show what the program prints."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from docs.pictures import PICTURES, printed
from typer.testing import CliRunner

from keywright.cli import app
from tests.sources.pdf_maker import Text, make_pdf

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    return [match[2] for match in _BLOCK.finditer(README) if match[1] == language]


COMMANDS = [line for code in blocks("sh") for line in code.splitlines()]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that README names."""
    examples = ROOT / "examples"
    notes = (examples / "heat-pumps.md").read_text(encoding="utf-8")
    paper = make_pdf([Text("Heat pumps in old houses", 72, 700, 20), Text("They work.", 72, 650)])
    (tmp_path / "paper.pdf").write_bytes(paper)
    (tmp_path / "data.csv").write_text("id,text\n1,Heat pumps warm old houses.\n2,\n")
    (tmp_path / "folder").mkdir()
    for name in ("notes.md", "folder/more.md"):
        (tmp_path / name).write_text(notes, encoding="utf-8")
    shutil.copy(examples / "documents.jsonl", tmp_path / "docs.jsonl")
    for name in ("a.jsonl", "b.jsonl"):
        shutil.copy(examples / "predictions.jsonl", tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_commands(command: str, files: Path) -> None:
    program, *arguments = shlex.split(command)
    assert program == "keywright"
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("code", blocks("python"))
def test_code(code: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(code, "README.md", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out.strip()


def test_it_names_the_two_commands_that_set_everything_up() -> None:
    assert "\nmake demo " in README
    assert "\nmake test " in README


def test_its_files_exist() -> None:
    links = re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", README)
    assert len(links) > 20
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_picture_of_the_terminal_is_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")  # restored afterwards
    svg = (PICTURES / "terminal.svg").read_text(encoding="utf-8")
    shown = re.sub(r"<[^>]+>|&#160;", " ", svg)
    phrases = re.findall(r"│ (.+?) +│ +\d+% │", printed())
    assert len(phrases) >= 5
    missing = [phrase for phrase in phrases if phrase not in " ".join(shown.split())]
    assert not missing, "run python -m docs.pictures"
    assert "http" not in re.sub(r'xmlns="[^"]+"|<!--.*?-->', "", svg)


def test_the_mark_is_the_same_everywhere() -> None:
    page = ROOT / "src" / "keywright" / "serving" / "page" / "mark.svg"
    assert page.read_bytes() == (PICTURES / "mark.svg").read_bytes()
