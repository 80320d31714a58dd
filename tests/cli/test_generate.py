"""`keywright generate` with an extractor: files, formats, options and errors."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from keywright.predictor import DEFAULT_FOLDER
from keywright.ranking.model import is_ranker
from tests.cli.conftest import Run

TEXT = "Heat pumps in old houses\n\nHeat pumps warm old houses. Radiators were replaced."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "b.md").write_text("# Drag sails\n\nDrag sails remove **space debris** from orbit.")
    return tmp_path


def test_a_folder_gives_a_line_per_document(keywright: Run, folder: Path) -> None:
    done = keywright("generate", folder, "--model", "tfidf", "--format", "jsonl")
    assert done.returncode == 0, done.stderr
    first, second = map(json.loads, done.stdout.splitlines())
    assert first["title"] == "Heat pumps in old houses"
    assert second["title"] == "Drag sails"
    document = f"{first['title']}\n{TEXT.partition(chr(10) * 2)[2]}"
    for keyphrase in first["keyphrases"]:
        for start, end in keyphrase["places"]:
            assert document[start:end].lower() == keyphrase["text"].lower()


def test_one_bad_file_is_reported_and_the_others_are_processed(
    keywright: Run, folder: Path
) -> None:
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 cut off")
    done = keywright("generate", folder, "--model", "tfidf", "--format", "text")
    assert done.returncode == 1
    assert len(done.stdout.splitlines()) == 2
    assert "broken.pdf" in done.stderr
    assert "1 of the files could not be read" in done.stderr


def test_standard_input_and_other_formats(keywright: Run) -> None:
    for form in ("table", "json", "csv"):
        done = keywright("generate", "-", "--model", "textrank", "--format", form, input=TEXT)
        assert done.returncode == 0, done.stderr
        assert "eat pumps" in done.stdout
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert set(rows[0]) == {
        "document",
        "keyphrase",
        "probability",
        "present",
        "start",
        "end",
        "id",
        "new",
    }


def test_output_file_is_written_whole(keywright: Run, folder: Path) -> None:
    target = folder / "out.json"
    done = keywright(
        "generate", folder / "a.txt", "--model", "tfidf", "--format", "json", "--output", target
    )
    assert done.returncode == 0, done.stderr
    assert len(json.loads(target.read_text())) == 1
    assert [path.name for path in folder.iterdir() if path.name.endswith(".part")] == []


def test_bad_options_are_one_line(keywright: Run, folder: Path) -> None:
    for options in (
        ["--model", "textrnk"],
        ["--model", "tfidf", "--format", "jsn"],
        ["--model", "tfidf", "--present-only", "--absent-only"],
    ):
        done = keywright("generate", folder, *options)
        assert done.returncode == 2
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def test_a_vocabulary_gives_terms_with_ids(keywright: Run, tmp_path: Path) -> None:
    terms = tmp_path / "terms.csv"
    terms.write_text(
        "id,term,synonyms\nx:1,air source heat pump,heat pump|pumps\nx:2,stove,pumps\n"
    )
    options = ["--model", "tfidf", "--vocabulary", terms]
    done = keywright("generate", "-", *options, "--format", "jsonl", input=TEXT)
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)["keyphrases"]
    assert (found["text"], found["id"], found["new"]) == ("air source heat pump", "x:1", False)
    assert "1 names belong to several terms" in done.stderr
    done = keywright("generate", "-", *options, "--vocabulary-mode", "mark", input=TEXT)
    assert "x:1" in done.stdout
    assert " new " in done.stdout
    for wrong in (["--vocabulary-mode", "onyl"], ["--vocabulary", tmp_path / "none.csv"]):
        done = keywright("generate", "-", *options, *wrong, input=TEXT)
        assert done.returncode == 2
        assert done.stderr.strip().splitlines()[-1].startswith("keywright: error: ")


def test_an_empty_result_names_the_option_that_excluded_everything(
    keywright: Run, tmp_path: Path
) -> None:
    if not is_ranker(DEFAULT_FOLDER):
        pytest.skip("this tree does not hold the default model")
    (tmp_path / "a.txt").write_text("A heat pump warms the house.", encoding="utf-8")
    command = ("generate", str(tmp_path / "a.txt"))
    assert "expected precision of 99%" in keywright(*command, "--precision", "0.99").stdout
    assert "probability of 99%" in keywright(*command, "--min-confidence", "0.99").stdout
