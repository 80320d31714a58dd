"""The tutorials run, and print what they show, except for numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docs.executed import TUTORIALS, executed

SLOW = {"adapt-to-your-tags", "train-and-reinforce"}


def masked(text: str) -> str:
    """A text with # for every number, with the blanks before it: other machines may round."""
    return re.sub(r" *\d+(\.\d+)?", "#", text)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(file.stem, marks=[pytest.mark.slow] if file.stem in SLOW else [])
        for file in sorted(TUTORIALS.glob("*.md"))
    ],
)
def test_it_prints_what_it_shows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "train-and-reinforce":
        pytest.importorskip("torch", reason="needs keywright[train]")
    monkeypatch.setenv("COLUMNS", "80")
    text = (TUTORIALS / f"{name}.md").read_text(encoding="utf-8")
    assert "```text\n```" not in text, f"run python -m docs.executed {name}"
    hint = f"if this is right, run python -m docs.executed {name}"
    assert masked(executed(text, tmp_path)) == masked(text), hint


def test_a_command_that_fails_fails_the_tutorial(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="no-such-file"):
        executed("```sh\nkeywright generate no-such-file\n```", tmp_path)


def test_output_is_what_is_printed(tmp_path: Path) -> None:
    text = "```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n"
    assert executed(text, tmp_path) == text.replace("3", "2")


def test_only_numbers_are_masked() -> None:
    assert masked("F1 is  3.5%") == masked("F1 is 12.75%") != masked("F2 is not 1%")
