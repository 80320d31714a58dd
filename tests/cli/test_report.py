"""`keywright report` as users run it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from keywright.cli.report import repeated
from tests.cli.conftest import Run
from tests.report.toy import DOCUMENTS, GOOD, POOR

FAST = ("--resamples", "100")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    def lines(name: str, values: list[dict[str, object]]) -> None:
        (tmp_path / name).write_text("".join(json.dumps(value) + "\n" for value in values))

    lines(
        "docs.jsonl",
        [
            {"id": d.id, "title": d.title, "abstract": d.body, "keywords": d.keyphrases}
            for d in DOCUMENTS
        ],
    )
    for name, lists in (("good", GOOD), ("poor", POOR)):
        lines(
            f"{name}.jsonl",
            [{"document_id": d.id, "phrases": p} for d, p in zip(DOCUMENTS, lists, strict=True)],
        )
    return tmp_path


def test_a_page_about_two_systems(keywright: Run, folder: Path) -> None:
    done = keywright(
        "report", "--documents", "docs.jsonl", "--predictions", "good.jsonl", "poor.jsonl",
        "--names", "B", "A", "--output", "report.html", *FAST, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    text = (folder / "report.html").read_text()
    assert "On present F1@M, B and A do not differ significantly" in text
    assert "B: calibration errors" in text  # and why they are left out
    assert "predictions of A: poor.jsonl" in text
    assert "--predictions good.jsonl poor.jsonl" in text  # the command, as it was given
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("output", "options", "start"),
    [
        ("r.md", (), "# Keyphrase report"),
        ("r.tex", (), "% Needs"),
        ("r.txt", ("--format", "latex"), "% Needs"),
    ],
)
def test_formats_for_papers(
    keywright: Run, folder: Path, output: str, options: tuple[str, ...], start: str
) -> None:
    done = keywright(
        "report", "--documents", "docs.jsonl", "--predictions", "good.jsonl", "--predictions",
        "poor.jsonl", "--output", output, *options, *FAST, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (folder / output).read_text().startswith(start)
    assert done.stderr.endswith(f"{output}: 3 documents, 2 systems\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["good.jsonl", "none.jsonl"], "none.jsonl: no such file"),
        (["good.jsonl", "--format", "pdf"], "unknown format 'pdf'"),
        (["good.jsonl", "--names", "a", "b"], "2 names for 1 systems"),
        (["good.jsonl", "--protocol", "chan18"], "did you mean 'chan19'?"),
        (["good.jsonl", "short.jsonl"], "short.jsonl: has no prediction for document 'd3'"),
        (["good.jsonl", "wild.jsonl"], "token_probs must be in [0, 1]"),
    ],
)
def test_bad_input_gives_a_one_line_error_and_no_file(
    keywright: Run, folder: Path, arguments: list[str], message: str
) -> None:
    lines = (folder / "good.jsonl").read_text().splitlines(keepends=True)
    (folder / "short.jsonl").write_text("".join(lines[:2]))
    wild = [{"id": d.id, "phrases": [{"text": "x", "token_probs": [1.5]}]} for d in DOCUMENTS]
    (folder / "wild.jsonl").write_text("".join(json.dumps(line) + "\n" for line in wild))
    done = keywright(
        "report", "--documents", "docs.jsonl", "--output", "r.html", "--predictions", *arguments,
        cwd=folder,
    )  # fmt: skip
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (folder / "r.html").exists()


def test_an_option_with_many_values_is_repeated_before_each() -> None:
    given = ["--predictions", "a", "b", "--output", "o", "--names", "x", "y", "--seed", "1"]
    assert repeated(given) == [
        "--predictions", "a", "--predictions", "b", "--output", "o",
        "--names", "x", "--names", "y", "--seed", "1",
    ]  # fmt: skip


def test_the_base_install_is_enough(folder: Path) -> None:
    script = (
        "import sys\n"
        "for name in ('torch', 'scipy', 'matplotlib', 'sklearn'): sys.modules[name] = None\n"
        "sys.argv = ['keywright', 'report', '--documents', 'docs.jsonl', "
        "'--predictions', 'good.jsonl', 'poor.jsonl', '--output', 'r.html', '--resamples', '100']\n"
        "from keywright.cli import main\n"
        "main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=folder, check=False
    )
    assert done.returncode == 0, done.stderr
