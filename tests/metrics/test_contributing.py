"""The metric that CONTRIBUTING.md shows works as it is printed there."""

from __future__ import annotations

import json
import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import keywright
from keywright import metrics, protocols
from keywright.cli import app
from keywright.metric import Metric, measures
from keywright.types import Document

ROOT = Path(__file__).resolve().parents[2]
_EXAMPLE = re.compile(r"^### A metric$.*?^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DOCUMENTS = [
    Document(id="1", title="Graph coloring", body="Planar graphs.", keyphrases=("planar graph",)),
    Document(id="2", title="Beam search", body="A decoder.", keyphrases=("beam search",)),
]
PREDICTIONS = [["graph coloring", "planar graphs"], ["decoder"]]


@pytest.fixture(autouse=True)
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The example is one more file in the folder of metrics."""
    found = _EXAMPLE.search((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert found, "CONTRIBUTING.md shows how to add a metric"
    (tmp_path / "success.py").write_text(found[1], encoding="utf-8")
    monkeypatch.setattr(metrics, "__path__", [*metrics.__path__, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "keywright.metrics.success", raising=False)
    measures.cache_clear()
    yield
    measures.cache_clear()


@pytest.mark.parametrize("protocol", protocols.names())
def test_it_is_listed_under_every_protocol_with_its_cut_offs(protocol: str) -> None:
    judge = protocols.load(protocol)
    listed = [str(metric) for metric in judge.metrics() if metric.measure == "Success"]
    assert listed == [
        f"{part}.Success@{cutoff}"
        for part in ("present", "absent", "all")
        for cutoff in judge.cutoffs
    ]


def test_it_is_computed_with_intervals_and_for_each_document() -> None:
    found: list[float] = []
    result = keywright.evaluate(
        DOCUMENTS,
        PREDICTIONS,
        metrics=["present.Success@1", "present.Success@M"],
        resamples=100,
        per_document=lambda _, scores: found.extend(scores["present.Success@M"].tolist()),
    )
    assert result["present.Success@1"] == 0
    assert result["present.Success@M"] == pytest.approx(1 / 2)
    assert result.intervals["present.Success@M"] == (0, 1)
    assert found == [1, 0]


def test_it_is_printed_like_the_others(tmp_path: Path) -> None:
    records = [
        {"id": d.id, "title": d.title, "abstract": d.body, "keywords": d.keyphrases}
        for d in DOCUMENTS
    ]
    made = [{"id": d.id, "phrases": p} for d, p in zip(DOCUMENTS, PREDICTIONS, strict=True)]
    for name, lines in (("documents", records), ("predictions", made)):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (tmp_path / f"{name}.jsonl").write_text(text)
    command = [
        "evaluate", "--documents", f"{tmp_path}/documents.jsonl",
        "--predictions", f"{tmp_path}/predictions.jsonl", "--metrics", "all",
    ]  # fmt: skip
    output = CliRunner().invoke(app, command, catch_exceptions=False).output
    assert re.search(r"^present\.Success@M +50\.00 ", output, re.MULTILINE)


def test_it_is_in_the_table_of_measures() -> None:
    table = runpy.run_path(str(ROOT / "docs" / "measures.py"))["table"]()
    row = "| Success@k | times 100 | higher |  | share of documents with a correct prediction |"
    assert row in table.splitlines()


def test_higher_is_better_and_values_are_times_100() -> None:
    metric = Metric.parse("all.Success@5")
    assert metric.definition.better == "higher"
    assert metric.show(0.5) == "50.00"
