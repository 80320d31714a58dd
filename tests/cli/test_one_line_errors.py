"""Odd files and names end in one line that names the file, and never in a traceback."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pytest

from keywright.cli import main

DEEP = 5000
LONG = "a" * 300
DOCUMENT = '{"id": "1", "title": "Heat pumps", "abstract": "Heat pumps warm old houses."}\n'


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = "term,id\n" + "".join(f"heat pump {n},{n}\n" for n in range(5000))
    packed = gzip.compress(table.encode())
    texts = {
        "deep.toml": f"a = {'[' * DEEP}{']' * DEEP}\n",
        "digits.toml": f"a = {'9' * 5000}\n",
        "deep.json": f"{'[' * DEEP}{']' * DEEP}\n",
        "docs.jsonl": DOCUMENT,
        "good.txt": "Heat pumps warm old houses.\n",
        "good.html": "<!doctype html><p>Heat pumps warm old houses.</p>",
        "bad.html": "<!doctype html><p>Heat pumps <![/p>",
    }
    for name, text in texts.items():
        Path(name).write_text(text, encoding="utf-8")
    for name in ("cut.csv.gz", "cut.ttl.gz", "cut.txt.gz"):
        Path(name).write_bytes(packed[: len(packed) // 2])


def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["keywright", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    code = ended.value.code
    assert isinstance(code, int)
    return code, out, err


PREDICT = ("predict", "--model", "tfidf", "--documents")
GENERATE = ("generate", "--model", "tfidf", "good.txt")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("train", "deep.toml", "--run", "run"), "deep.toml"),
        (("train", "digits.toml", "--run", "run"), "digits.toml"),
        (("fit-ranker", "deep.toml", "--output", "ranker"), "deep.toml"),
        (("generate", "good.txt", "--calibration", "deep.json"), "deep.json"),
        ((*PREDICT, LONG, "--output", "-"), LONG),
        ((*PREDICT, "docs.jsonl", "--output", LONG), LONG),
        ((*PREDICT, "/proc/self/mem", "--output", "-"), "/proc/self/mem"),
        (("generate", LONG, "--model", "tfidf"), LONG),
        (("generate", "/proc/self/mem", "--model", "tfidf"), "/proc/self/mem"),
        ((*GENERATE, "--output", LONG), LONG),
        ((*GENERATE, "--vocabulary", LONG), LONG),
        ((*GENERATE, "--vocabulary", "cut.csv.gz"), "cut.csv.gz"),
        ((*GENERATE, "--vocabulary", "cut.ttl.gz"), "cut.ttl.gz"),
        ((*GENERATE, "--vocabulary", "cut.txt.gz"), "cut.txt.gz"),
        (("generate", "good.txt", "--model", LONG), LONG),
        (("evaluate", "--documents", LONG, "--predictions", "docs.jsonl"), LONG),
    ],
)
def test_the_error_is_one_line_that_names_the_file(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    named: str,
) -> None:
    code, _, err = run(monkeypatch, capsys, *arguments)
    assert code == 2
    (line,) = [line for line in err.splitlines() if "error" in line]
    assert line.startswith("keywright: error: ")
    assert named in line


@pytest.mark.parametrize("bad", ["bad.html", LONG, "/proc/self/mem"])
def test_a_file_that_breaks_its_reader_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], bad: str
) -> None:
    arguments = ("generate", bad, "good.html", "--model", "tfidf", "--format", "text")
    code, out, err = run(monkeypatch, capsys, *arguments)
    assert code == 1
    assert "pumps" in out
    assert f"keywright: error: {bad}: " in err
