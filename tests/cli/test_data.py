"""`keywright data` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from keywright.cli import app, main
from keywright.data.documents import read_documents
from keywright.data.predictions import read_predictions
from tests.cli.conftest import Run

RECORDS = [
    {"id": "d1", "title": "Sparse graphs", "abstract": "Sparse graphs have few edges.",
     "keywords": ["sparse graphs", "graph theory"]},
    {"id": "d2", "title": "Trees", "abstract": "A tree is sparse.", "keywords": ["trees"]},
]  # fmt: skip


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    file = tmp_path / "corpus.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    return file


def run(*args: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["data", *map(str, args)], catch_exceptions=False)
    return result.exit_code, result.stdout


def fails(monkeypatch, capsys, *args: object) -> str:
    """The single line on standard error of a command that ends with exit code 2."""
    monkeypatch.setattr("sys.argv", ["keywright", "data", *map(str, args)])
    with pytest.raises(SystemExit) as exit:
        main()
    assert exit.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_convert_there_and_back(corpus, tmp_path):
    assert run("convert", corpus, tmp_path / "out.jsonl.zst")[0] == 0
    assert list(read_documents(tmp_path / "out.jsonl.zst")) == list(read_documents(corpus))
    assert run("convert", corpus, tmp_path / "test_src.txt", "--to", "chan")[0] == 0
    assert (tmp_path / "test_trg.txt").read_text() == "sparse graphs;graph theory\ntrees\n"


def test_convert_to_standard_output(corpus):
    code, output = run("convert", corpus, "-", "--to", "meng")
    assert code == 0
    assert [json.loads(line) for line in output.splitlines()] == RECORDS


def test_convert_predictions(tmp_path):
    (tmp_path / "p.txt").write_text("a b;c\n\n")
    assert run("convert", tmp_path / "p.txt", tmp_path / "p.jsonl", "--predictions")[0] == 0
    assert [p.texts for p in read_predictions(tmp_path / "p.jsonl")] == [("a b", "c"), ()]
    back = ("--predictions", "--to", "chan", "--from", "keywright")
    assert run("convert", tmp_path / "p.jsonl", tmp_path / "back.txt", *back)[0] == 0
    assert (tmp_path / "back.txt").read_text() == "a b;c\n\n"


def test_stats_as_json_and_as_a_table(corpus):
    code, output = run("stats", corpus, "--format", "json")
    assert code == 0
    (row,) = json.loads(output)
    assert row["file"] == "corpus.jsonl"
    assert (row["#Doc"], row["#KP"], row["#PreKP"], row["#AbsKP"]) == (2, 3, 2, 1)
    assert (row["#PreDoc"], row["#AbsDoc"], row["Mean"], row["Var"]) == (2, 1, 1.5, 0.25)
    assert row["0-20"] == 2
    code, output = run("stats", corpus)
    assert code == 0
    assert "66.67" in output
    assert "80-100" in output


def test_stats_of_files_with_the_same_name_show_their_paths(corpus, tmp_path):
    (tmp_path / "raw").mkdir()
    other = tmp_path / "raw" / "corpus.jsonl"
    other.write_bytes(corpus.read_bytes())
    rows = json.loads(run("stats", corpus, other, "--format", "json")[1])
    assert [row["file"] for row in rows] == [str(corpus), str(other)]


def test_stats_for_papers_and_spreadsheets(corpus):
    latex = run("stats", corpus, "--format", "latex")[1]
    assert r"\#Doc" in latex
    assert latex.count("&") == 2 * 16
    head, row = run("stats", corpus, "--format", "tsv")[1].splitlines()
    assert dict(zip(head.split("\t"), row.split("\t"), strict=True))["Mean"] == "1.5"


def test_check_a_clean_corpus(corpus):
    code, output = run("check", corpus)
    assert code == 0
    assert "corpus.jsonl" in output


def test_check_reports_its_findings_and_ends_with_1(corpus, tmp_path):
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps(RECORDS[0]) + "\nrubbish\n")
    code, output = run("check", corpus, "--against", other)
    assert code == 1
    assert f"{other}:2: is not JSON" in output
    assert f"{corpus}:1 and {other}:1: same title" in output
    code, output = run("check", corpus, "--against", other, "--format", "json")
    report = json.loads(output)
    assert code == 1
    assert len(report["leaks"]) == 1
    assert report["files"][1]["malformed"]


def test_against_accepts_all_files_of_a_shell_pattern(corpus, tmp_path):
    others = [tmp_path / f"{name}.jsonl" for name in "abc"]
    for other in others:
        other.write_text(json.dumps(RECORDS[0]) + "\n")
    output = run("check", corpus, "--against", *others, "--format", "json")[1]
    leaks = json.loads(output)["leaks"]
    assert {leak[0][0] for leak in leaks} == {str(corpus)}
    assert {leak[1][0] for leak in leaks} == {str(other) for other in others}


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("stats", "nowhere.jsonl"), "nowhere.jsonl: no such file"),
        (("stats", "CORPUS", "--format", "html"), "unknown output format 'html'"),
        (("convert", "CORPUS", "out", "--from", "menk"), "unknown document format 'menk'; did you"),
        (("convert", "CORPUS", "out", "--to", "kpevel"), "unknown format to write documents in"),
        (("convert", "CORPUS", "no/such/folder/out"), "no/such/folder/out: cannot be written"),
        (
            ("convert", "CORPUS", "out", "--predictions"),
            "no known prediction format has the fields",
        ),
        (("check", "CORPUS", "--against", "nowhere"), "nowhere: no such file"),
    ],
)
def test_errors_are_one_line_and_exit_code_2(monkeypatch, capsys, corpus, args, message):
    monkeypatch.chdir(corpus.parent)
    args = [str(corpus) if arg == "CORPUS" else arg for arg in args]
    assert message in fails(monkeypatch, capsys, *args)
    assert [file.name for file in corpus.parent.iterdir()] == [corpus.name]


def test_predictions_become_synthetic_labels(keywright: Run, tmp_path: Path) -> None:
    documents, predicted, out = (tmp_path / f"{name}.jsonl" for name in ("d", "p", "out"))
    texts = ("Heat pumps warm houses. Heat pumps are quiet.", "")
    records = ({"id": str(n), "title": "", "body": text} for n, text in enumerate(texts))
    documents.write_text("".join(json.dumps(record) + "\n" for record in records))
    keywright("predict", "--model", "textrank", "--documents", documents, "--output", predicted)
    done = keywright("data", "label", documents, predicted, out, "--most", "1")
    assert done.returncode == 0, done.stderr
    [record] = [json.loads(line) for line in out.read_text().splitlines()]
    assert record["id"] == "0"
    assert record["keyphrases"] == ["heat pumps warm houses"]


def test_labels_are_matched_as_asked(keywright: Run, tmp_path: Path) -> None:
    documents, predicted, out = (tmp_path / f"{name}.jsonl" for name in ("d", "p", "out"))
    texts = [
        {"id": "a", "title": "", "body": "Heat pumps."},
        {"title": "", "body": "Cold pumps."},
    ]
    documents.write_text("".join(json.dumps(text) + "\n" for text in texts))
    predicted.write_text('{"phrases": [{"text": "heat"}]}\n{"phrases": [{"text": "cold"}]}\n')
    done = keywright("data", "label", documents, predicted, out, "--match", "line")
    assert done.returncode == 0, done.stderr
    found = [json.loads(line)["keyphrases"] for line in out.read_text().splitlines()]
    assert found == [["heat"], ["cold"]]
    done = keywright("data", "label", documents, predicted, out, "--match", "titel")
    assert done.returncode == 2
    assert "titel" in done.stderr


def test_labels_can_be_those_that_are_likely(keywright: Run, tmp_path: Path) -> None:
    documents, predicted, out = (tmp_path / f"{name}.jsonl" for name in ("d", "p", "out"))
    text = '{"title": "", "body": "Heat pumps warm houses."}\n'
    documents.write_text(text * 2)
    sure = (
        '{"phrases": [{"text": "heat", "confidence": 0.3}, {"text": "pumps", "confidence": 0.2}]}'
    )
    unsure = '{"phrases": [{"text": "houses", "confidence": 0.1}]}'
    predicted.write_text(f"{sure}\n{unsure}\n")
    label = ("data", "label", documents, predicted, out, "--match", "line", "--min-confidence")
    done = keywright(*label, "0.3")
    assert done.returncode == 0, done.stderr
    [record] = [json.loads(line) for line in out.read_text().splitlines()]
    assert record["keyphrases"] == ["heat"]  # the second document has none
    done = keywright(*label, "0.9")
    assert done.returncode == 2
    assert "p.jsonl: has no such phrase for any of the documents" in done.stderr
    predicted.write_text('{"phrases": [{"text": "heat"}]}\n' * 2)
    done = keywright(*label, "0.3")
    assert done.returncode == 2
    assert "p.jsonl: has no probability of 'heat'" in done.stderr


def test_labels_without_any_phrase_are_an_error(keywright: Run, tmp_path: Path) -> None:
    documents, predicted, out = (tmp_path / f"{name}.jsonl" for name in ("d", "p", "out"))
    documents.write_text('{"id": "0", "title": "", "body": "Heat pumps warm houses."}\n')
    predicted.write_text('{"document_id": "0", "phrases": []}\n')
    done = keywright("data", "label", documents, predicted, out)
    assert done.returncode == 2
    assert "p.jsonl: has no such phrase for any of the documents" in done.stderr
    assert not out.exists()
