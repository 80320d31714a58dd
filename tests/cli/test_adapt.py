"""`keywright adapt`, as a user runs it."""

from __future__ import annotations

import csv
from pathlib import Path

import msgspec
import pytest

from tests.adaptation.test_adapt import documents
from tests.cli.conftest import Run


def test_a_table_of_documents_gives_a_model_that_generate_uses(
    keywright: Run, tmp_path: Path
) -> None:
    table = tmp_path / "tickets.csv"
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["Subject", "Ticket", "Labels"])
        for document in documents(120):
            writer.writerow([document.title, document.body, "; ".join(document.keyphrases or ())])
    columns = ["--title-column", "subject", "--text-column", "Ticket"]
    model = tmp_path / "model"
    result = keywright("adapt", table, "--output", model, *columns, "--keyphrases-column", "labels")
    assert result.returncode == 0, result.stderr
    assert "better than before: present.F1@M, absent.F1@M" in result.stdout
    text = tmp_path / "new.txt"
    text.write_text("The chain of my bicycle broke, and the saddle and pedals are worn.")
    found = keywright("generate", text, "--model", model, "--format", "text")
    assert "two wheels" in found.stdout, found.stderr


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("a.csv", "title,words\nTea,leaf\n", [], "has no column for text"),
        ("a.csv", "text,tags\nTea,leaf\n", ["--text-column", "body"], "no column called 'body'"),
        ("a.csv", "text,body,tags\nTea,leaf,x\n", [], "has several columns for text"),
        ("a.csv", "text,tags\nTea,leaf,mug\n", [], "a.csv:2: has 3 cells, but the header has 2"),
        ("a.csv", "", [], "needs a header"),
        ("a.csv", "text,tags\nTea,leaf\n", [], "needs at least 100"),
        ("a.csv", "text,tags\nTea,\n", [], "none of 1 documents has keyphrases"),
        ("a.jsonl", '{"a": 1}\n', [], "no known document format has the fields 'a'"),
        ("a.jsonl", '{"title": "", "body": ""}\n', ["--separator", ";"], "is not a .csv or .tsv"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    keywright: Run, tmp_path: Path, name: str, content: str, options: list[str], message: str
) -> None:
    (tmp_path / name).write_text(content)
    result = keywright("adapt", tmp_path / name, "--output", tmp_path / "model", *options)
    assert result.returncode == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_an_output_that_exists_is_refused_before_anything_is_read(
    keywright: Run, tmp_path: Path
) -> None:
    (tmp_path / "docs.jsonl").write_bytes(b"".join(map(_line, documents(120))))
    (tmp_path / "model").write_text("mine")
    result = keywright("adapt", tmp_path / "docs.jsonl", "--output", tmp_path / "model")
    assert result.returncode == 2
    assert "exists and is not an empty folder" in result.stderr
    assert (tmp_path / "model").read_text() == "mine"


def _line(document: object) -> bytes:
    return msgspec.json.encode(document) + b"\n"
