"""The tutorials run, and print what they show, except for numbers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from docs.executed import TUTORIALS, cells, executed, run_notebook

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


def printed(notebook: dict[str, Any]) -> dict[str, str]:
    """What each code cell of a notebook printed, by its source."""
    return {
        "".join(cell["source"]): "".join(
            "".join(output["text"]) for output in cell["outputs"] if "text" in output
        )
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    }


@pytest.mark.parametrize("file", sorted(TUTORIALS.glob("*.md")), ids=lambda file: file.stem)
def test_the_notebook_is_that_of_the_tutorial(file: Path) -> None:
    """The same text and code; run, and with the same output except for numbers."""
    text = file.read_text(encoding="utf-8")
    stored = file.with_suffix(".ipynb").read_text(encoding="utf-8")
    notebook = json.loads(stored)
    found = [(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]
    assert found == cells(text), f"run python -m docs.executed {file.stem}"
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [masked(output) for output in printed(notebook).values()]
    shown = re.findall(r"^```(?:sh|python)\n.*?^```\n\n```text\n(.*?)^```$", text, re.M | re.S)
    assert shown, "a tutorial shows what it prints"
    for output in map(masked, shown):
        assert output in outputs, f"run python -m docs.executed {file.stem}"
    assert not re.search(r"/(home|root|tmp|work)/", stored)
    assert len(stored) < 40_000


@pytest.mark.slow
def test_a_notebook_runs(tmp_path: Path) -> None:
    pytest.importorskip("nbclient", reason="needs keywright[docs]")
    text = '# A tutorial\n\n```text title="a/b.txt"\nbees\n```\n\n'
    text += "```python\nprint(open('a/b.txt').read(), end='')\n```\n\n```text\nbees\n```\n\nEnd.\n"
    text += "\n```sh\ncat a/b.txt\nkeywright --version\n```\n"
    found = list(printed(run_notebook(text, tmp_path)).values())
    assert found[2] == "bees\n"
    assert re.fullmatch(r"bees\nkeywright \d.*\n", found[3])


def test_a_command_that_fails_fails_the_tutorial(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="no-such-file"):
        executed("```sh\nkeywright generate no-such-file\n```", tmp_path)


def test_output_is_what_is_printed(tmp_path: Path) -> None:
    text = "```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n"
    assert executed(text, tmp_path) == text.replace("3", "2")


def test_only_numbers_are_masked() -> None:
    assert masked("F1 is  3.5%") == masked("F1 is 12.75%") != masked("F2 is not 1%")
