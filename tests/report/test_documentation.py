"""The example in the guide runs as printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from keywright.data.writers import write_documents, write_predictions
from tests.report.toy import DOCUMENTS, GOOD, POOR, predictions

GUIDE = Path(__file__).parents[2] / "docs" / "report.md"


def test_the_example_in_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_documents(DOCUMENTS, tmp_path / "test.jsonl")
    write_predictions(predictions(GOOD), tmp_path / "a.jsonl")
    write_predictions(predictions(POOR), tmp_path / "b.jsonl")
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    made: dict[str, object] = {}
    exec(example, made)
    assert str(made["page"]).startswith("<!doctype html>")
    assert "On present F1@M, A and B do not differ significantly" in capsys.readouterr().out
