"""The extractor that CONTRIBUTING.md shows works as it is printed there."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from keywright import Keywright, extractors, parts, predictor
from keywright.errors import ConfigError
from keywright.types import Document

GUIDE = Path(__file__).resolve().parents[2] / "CONTRIBUTING.md"
_EXAMPLE = re.compile(r"^### An extractor$.*?^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DOCUMENT = Document(title="Heat pumps", body="The heat pumps of old houses need electricity.")


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of the example, which is one file more in the folder of extractors."""
    found = _EXAMPLE.search(GUIDE.read_text(encoding="utf-8"))
    assert found, "CONTRIBUTING.md shows how to add an extractor"
    (tmp_path / "first.py").write_text(found[1], encoding="utf-8")
    monkeypatch.setattr(extractors, "__path__", [*extractors.__path__, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "keywright.extractors.first", raising=False)
    return "first"


def test_it_is_found_by_its_file_name(example: str) -> None:
    assert example in parts.names("keywright.extractors")


def test_it_predicts_and_has_a_parameter(example: str) -> None:
    (prediction,) = predictor.load(example).predict([DOCUMENT])
    assert prediction.texts == ("heat pumps", "old houses need electricity")
    (shorter,) = predictor.load(example, settings=["max_phrases=1"]).predict([DOCUMENT])
    assert shorter.texts == ("heat pumps",)
    with pytest.raises(ConfigError, match="max_phrases"):
        predictor.load(example, settings=["max_phrases=0"])


def test_it_generates_keyphrases(example: str) -> None:
    found = Keywright(example).generate(DOCUMENT)
    assert [keyphrase.text for keyphrase in found] == ["Heat pumps", "old houses need electricity"]
