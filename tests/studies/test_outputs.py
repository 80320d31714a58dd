"""Every kind of table and figure, from a study whose steps are run in this process."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from typer.testing import CliRunner

pytest.importorskip("torch")
pytest.importorskip("sklearn")

from keywright import config as configs
from keywright import runs
from keywright.cli import app
from keywright.data.documents import read_documents
from keywright.studies import figures, loading, output, results, tables
from keywright.studies import plan as plans
from keywright.studies.plan import STEPS, Plan
from keywright.studies.run import Record, duration, estimates
from keywright.tables import Table


def run_here(plan: Plan) -> None:
    """The steps one after another, as `keywright study` runs them in processes of their own."""
    plans.prepare(plan)
    (plan.folder / STEPS).mkdir()
    for step in plans.ordered(plan.steps):
        done = CliRunner().invoke(app, step.command, catch_exceptions=False)
        assert done.exit_code == 0, (step.name, done.output)
        assert step.output.exists(), step.name
        record = Record(step.name, 2.0, step.work, step.model, step.kind)
        (plan.folder / STEPS / f"{step.key}.json").write_bytes(msgspec.json.encode(record))


def texts(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def test_every_kind_of_table_and_figure(everything: Path, tmp_path: Path) -> None:
    plan = plans.make(loading.load(everything), tmp_path / "run")
    run_here(plan)
    found = results.score(plan, lambda _: None)
    made = {table.name: table for table in tables.make(found)}
    drawings = figures.make(found, lambda _: None)
    galleries = {gallery.title: gallery.figures for gallery in drawings}

    # The scorer and its pairs come before the system that asks it.
    order = [step.name for step in plans.ordered(plan.steps)]
    assert order.index("make pairs for FB, train") < order.index("train FB")
    assert order.index("train FB") < order.index("train Rewarded (seed 1)")
    rewarded = next(step for step in plan.steps if step.name == "train Rewarded (seed 1)")
    scorer = next(step for step in plan.steps if step.name == "train FB")
    assert f'scorer = "{scorer.output}"' in plan.configs[Path(rewarded.command[1])]

    # The pupil learns from nothing but what was predicted.
    assert order.index("label its own with Recurrent") < order.index("train Pupil")
    pupil = next(step for step in plan.steps if step.name == "train Pupil")
    labelled = [step for step in plan.steps if step.kind == "label"]
    config = configs.load(pupil.command[1])
    assert config.data.train == tuple(str(step.output) for step in labelled)
    first, own = (list(read_documents(step.output)) for step in labelled)
    assert [len(document.keyphrases or ()) for document in first] == [1] * 10
    there = list(read_documents(everything.parent / "train.jsonl"))[12:18]
    titles = {document.title for document in there}
    assert own
    assert {document.title for document in own} <= titles
    read = msgspec.json.decode((pupil.output / runs.MANIFEST).read_bytes())["train"]
    assert read["documents"] == len(first) + len(own)

    assert (
        "±"
        in dict(zip(made["main"].columns, texts(made["main"])[-1], strict=True))[
            "test present.F1@M"
        ]
    )
    paper = next(row for row in made["main"].rows if row[0].text == "Paper")
    assert paper[1].text == "36.7"
    assert not paper[1].best
    marks = [row[1].mark for row in made["letters"].rows]
    assert marks.pop([row[0].text for row in made["letters"].rows].index("Paper")) == ""
    assert all(re.fullmatch(" [a-z]+", mark) for mark in marks)
    assert "share a letter" in " ".join(made["letters"].notes)
    (gap,) = texts(made["gaps"])
    ours = found.of(("Recurrent", "own"), "test", "present.F1@M")[0]
    assert gap[:3] == ["Recurrent", "Paper", f"{100 * ours - 36.7:+.2f}".replace("-", "−")]
    contrasts = texts(made["averages"])
    assert [row[1] for row in contrasts if row[0] == "Short"] == ["test", "part", "mean"]
    for row in contrasts:
        difference = float(row[4].replace("−", "-"))
        assert difference == pytest.approx(float(row[2]) - float(row[3]), abs=0.011)
    # Two of the three gold phrases of each document occur in it, if the text has them in a row.
    (test, part) = texts(made["places"])
    assert test[0] == "test"
    assert sum(map(int, test[1:])) == 24 > sum(map(int, part[1:])) == 10
    example = texts(made["case"])
    assert example[1][0] == "gold"
    assert example[1][3] == "the absent one"
    assert [row[0] for row in example[2:]] == [
        "Short",
        "Longer",
        "First phrases",
        "Recurrent",
        "Pupil",
        "Rewarded",
    ]

    assert galleries.keys() == {
        "Perplexity", "fig 2", "reliable", "tokens", "places", "bars", "series", "phrases",
        "shared", "layout",
    }  # fmt: skip
    assert all(drawn for title, drawn in galleries.items() if title != "layout")
    assert len(galleries["shared"]) == 3
    bars = galleries["series"][0]
    assert [[cell.text for cell in row][2] for row in bars.table.rows] == ["36.7", "–"]
    names = [figure.name for drawn in galleries.values() for figure in drawn]
    assert len(names) == len(set(names))

    files = output.write(found, list(made.values()), drawings)
    written = {file.name: file.read_text() for file in files if file.parent.name == "figures"}
    assert sorted(written) == sorted(f"{name}.svg" for name in names)
    for text in written.values():
        root = ElementTree.fromstring(text)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "nan" not in text
    page = (plan.folder / "index.html").read_text()
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert all(f'id="{name}-title"' in page for name in names)

    # What was measured replaces the rough speeds.
    seconds = estimates(plan, plan.steps, lambda step: 1e-9)
    assert seconds[scorer.key] == pytest.approx(2.0)
    assert duration(plan.steps, seconds, jobs=2) < duration(plan.steps, seconds, jobs=1)


def test_layouts_are_the_same_every_time(everything: Path, tmp_path: Path) -> None:
    plan = plans.make(loading.load(everything), tmp_path / "run")
    chosen = {step.key: step for step in plan.steps}
    states = [step for step in plan.steps if step.name == "decoder states of Recurrent on test"]
    needed = [chosen[key] for step in states for key in step.needs]
    plans.prepare(plan)
    for step in (*needed, *states):
        assert CliRunner().invoke(app, step.command, catch_exceptions=False).exit_code == 0
    first = states[0].output.read_bytes()
    assert CliRunner().invoke(app, states[0].command, catch_exceptions=False).exit_code == 0
    assert states[0].output.read_bytes() == first
