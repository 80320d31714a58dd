"""The examples in the docs run, and print the output shown."""

from __future__ import annotations

import dataclasses
import re
import runpy
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

import keywright
from keywright import protocols
from keywright.cli import app
from keywright.metric import measures

ROOT = Path(__file__).resolve().parents[1]
GUIDES = ("evaluation.md", "protocols.md", "reinforcement.md")
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language: str, guides: tuple[str, ...] = GUIDES) -> list[tuple[str, int, str]]:
    """(file, line, code) of every code block in a language."""
    found = []
    for name in guides:
        text = (ROOT / "docs" / name).read_text(encoding="utf-8")
        for match in _BLOCK.finditer(text):
            if match[1] == language:
                found.append((name, text[: match.start()].count("\n") + 1, match[2]))
    return found


def promised(code: str) -> list[str]:
    """The output that a block shows: `print(...)  # this`, or comments after a loop."""
    return [
        comment
        for line in code.splitlines()
        for comment in re.findall(r"^print\(.*\)  # (.*)$|^# (.*)$", line)[:1]
        for comment in filter(None, comment)
    ]


@pytest.mark.parametrize(("name", "line", "code"), blocks("python"))
def test_python_examples(
    name: str,
    line: int,
    code: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(ROOT)
    exec(compile(code, f"{name}:{line}", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out.splitlines() == promised(code)


def test_the_examples_of_the_python_guide_run_one_after_another() -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("polars", reason="polars is not installed")
    names: dict[str, object] = {"__name__": "__main__"}
    for name, line, code in blocks("python", ("python.md",)):
        exec(compile(code, f"{name}:{line}", "exec"), names)


def test_the_python_guide_has_every_public_name() -> None:
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    for name in keywright.__all__:
        assert f"`{name}`" in text, name
    for method in vars(keywright.Keywright):
        assert method.startswith("_") or f"`{method}" in text, method


def test_the_reference_has_every_public_name() -> None:
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    for name in keywright.__all__:
        module = getattr(keywright, name).__module__
        assert f"::: {module}.{name}\n" in text, f"{module}.{name}"


@pytest.mark.parametrize(
    "command",
    sorted({line for _, _, code in blocks("sh") for line in code.splitlines() if line}),
)
def test_commands(command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    program, *arguments = shlex.split(command)
    assert program == "keywright"
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    assert done.output


@pytest.mark.parametrize("name", protocols.names())
def test_every_protocol_and_parameter_is_explained(name: str) -> None:
    text = (ROOT / "docs" / "protocols.md").read_text(encoding="utf-8")
    assert f"\n## {name}\n" in text
    for field in dataclasses.fields(protocols.load(name).config):
        assert f"`{field.name}`" in text or f"`{field.name}=" in text, field.name


def test_the_table_of_measures_is_up_to_date() -> None:
    text = (ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8")
    generator = runpy.run_path(str(ROOT / "docs" / "measures.py"))
    assert all(f"\n| {name}" in generator["table"]() for name in measures())
    assert text == generator["updated"](text), "run python docs/measures.py"


def test_there_are_examples() -> None:
    assert len(blocks("python")) >= 6
    assert len(blocks("sh")) >= 3
