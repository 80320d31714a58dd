"""`keywright generate TABLE --output TABLE`: the same table with keyphrases, also after a kill."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from keywright import Document, Keywright
from keywright.cli import _jobs, main
from keywright.cli._jobs import Input, Outcome
from keywright.generation.job import Job

HEADER = "id,title,abstract\n"
ROWS = [
    f"{number},Heat pump number{number},Heat pumps warm house number{number} and save energy.\n"
    for number in range(300)
]


class Result:
    def __init__(self, code: int, out: str, err: str):
        self.code, self.out, self.err = code, out, err


Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `keywright generate` with an extractor in this process, which is quicker."""

    def call(*arguments: object) -> Result:
        given = ["keywright", "generate", *map(str, arguments), "--model", "textrank"]
        monkeypatch.setattr(sys, "argv", given)
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return Result(int(ended.value.code or 0), captured.out, captured.err)

    return call


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "data.csv"
    path.write_text(HEADER + ROWS[0] + "x,,\n" + ROWS[1])
    return path


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_columns_are_added(run: Run, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    done = run(table, "--column", "abstract", "--output", out)
    assert done.code == 0, done.err
    first, empty, last = rows(out)
    assert list(first) == ["id", "title", "abstract", "keyphrases", "keyphrases_probability"]
    assert "heat pump" in first["keyphrases"].lower()
    assert [empty["id"], empty["keyphrases"]] == ["x", ""]
    assert last["title"] == "Heat pump number1"
    # As the plain call finds them.
    found = Keywright("textrank").generate(Document(title=first["title"], body=first["abstract"]))
    assert first["keyphrases"] == "; ".join(phrase.text for phrase in found)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv", "out.csv"]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_model_without_probabilities_leaves_their_column_empty(
    run: Run, table: Path, tmp_path: Path, kind: str
) -> None:
    out = tmp_path / f"out.{kind}"
    assert run(table, "--output", out).code == 0  # textrank has none
    if kind == "csv":
        assert [row["keyphrases_probability"] for row in rows(out)] == ["", "", ""]
        return
    if kind == "jsonl":
        found = [json.loads(line) for line in out.read_text().splitlines()]
    else:
        found = pytest.importorskip("pyarrow.parquet").read_table(out).to_pylist()
    assert all(isinstance(row["keyphrases"], list) for row in found)
    assert [row["keyphrases_probability"] for row in found] == [None, [], None]


@pytest.mark.parametrize("done", [0, 1, 128, 150, 299])
def test_a_killed_run_is_continued(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    done: int,
) -> None:
    path, out, whole = tmp_path / "data.csv", tmp_path / "out.csv", tmp_path / "whole.csv"
    path.write_text(HEADER + "".join(ROWS))
    assert run(path, "--output", whole).code == 0
    with monkeypatch.context() as patch:
        generate = _jobs._generate
        left = iter(range(done + 1))

        def killed(inputs: list[Input], job: Job) -> Iterator[Outcome]:
            for outcome in generate(inputs, job):
                if next(left) == done:
                    raise KeyboardInterrupt
                yield outcome

        patch.setattr(_jobs, "_generate", killed)
        interrupted = run(path, "--output", out)
    assert interrupted.code == 130
    assert f"stopped after {done} rows; --resume continues" in interrupted.err
    assert not out.exists()
    again = run(path, "--output", out)
    assert again.code == 2
    assert "--resume continues it" in again.err
    assert run(path, "--output", out, "--resume").code == 0
    assert out.read_bytes() == whole.read_bytes()
    assert "is already complete" in run(path, "--output", out, "--resume").err


def test_a_changed_table_or_selection_is_not_continued(
    run: Run,
    table: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "out.csv"
    with monkeypatch.context() as patch:

        def killed(inputs: list[Input], job: Job) -> Iterator[Outcome]:
            raise KeyboardInterrupt

        patch.setattr(_jobs, "_generate", killed)
        assert run(table, "--output", out).code == 130
    other = run(table, "--output", out, "--resume", "--top", 1)
    assert other.code == 2
    assert "cannot be continued: selection was" in other.err
    table.write_text(table.read_text().replace("energy", "money"))
    changed = run(table, "--output", out, "--resume")
    assert "cannot be continued: changed since it was begun: table" in changed.err
    assert run(table, "--output", out, "--force").code == 0


def test_rows_are_read_one_chunk_at_a_time(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path, sizes = tmp_path / "data.csv", []
    path.write_text(HEADER + "".join(ROWS))
    generate = _jobs._generate

    def counted(inputs: list[Input], job: Job) -> list[Outcome]:
        sizes.append(len(inputs))
        return generate(inputs, job)

    monkeypatch.setattr(_jobs, "_generate", counted)
    assert run(path, "--output", tmp_path / "out.csv").code == 0
    assert sizes == [128, 128, 44]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--column", "nothing"], "has no column called 'nothing'"),
        (["--title-column", "nothing"], "has no column called 'nothing'"),
        (["--keyphrases-column", "id"], "has a column 'id' already"),
    ],
)
def test_wrong_columns(run: Run, table: Path, arguments: list[str], message: str) -> None:
    done = run(table, *arguments, "--output", table.with_name("out.csv"))
    assert done.code == 2
    assert message in done.err
    assert len(done.err.splitlines()) == 1
    assert not table.with_name("out.csv").exists()


def test_a_table_without_a_usual_column_says_what_to_do(run: Run, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("a,b\n1,heat pumps\n")
    done = run(tmp_path / "data.csv")
    assert done.code == 2
    assert "name one with --column" in done.err


def test_other_ways_to_use_tables(run: Run, table: Path, tmp_path: Path) -> None:
    listed = run(table, "--format", "jsonl")
    assert [json.loads(line)["id"] for line in listed.out.splitlines()] == [
        f"{table}:{line}" for line in (2, 3, 4)
    ]
    (tmp_path / "other.csv").write_text(table.read_text())
    both = run(table, tmp_path / "other.csv", "--output", tmp_path / "out.csv")
    assert both.code == 2
    assert "one table at a time" in both.err
    itself = run(table, "--output", table)
    assert "is the table itself" in itself.err
    assert "name another file" in itself.err
    text = tmp_path / "notes.txt"
    text.write_text("Heat pumps warm old houses.")
    assert "is not a table" in run(text, "--column", "text").err
    assert "are for a table" in run(text, "--resume").err


def test_the_format_of_documents_can_be_named(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "documents.data"
    path.write_text('{"title": "Heat pumps", "abstract": "They warm houses.", "keywords": ["a"]}\n')
    assert run(path, "--documents-format", "meng", "--format", "text").code == 0
    wrong = run(path, "--documents-format", "mengg")
    assert wrong.code == 2
    assert "did you mean 'meng'" in wrong.err
