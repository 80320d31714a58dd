"""`keywright compare`, `overlap`, `ensemble` and `analyse` as users run them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from keywright.evaluate import evaluate
from tests.cli.conftest import Run

DOCUMENTS = [
    (
        "d1",
        "Graph coloring",
        "We color planar graphs greedily.",
        ["graph coloring", "planar graph"],
    ),
    ("d2", "Beam search", "A decoder keeps the best outputs.", ["beam search", "decoding"]),
    ("d3", "Prime numbers", "A short note on primes.", ["prime numbers", "number theory"]),
]
GOOD = [["graph coloring", "planar graphs"], ["beam search", "decoding"], ["prime numbers"]]
POOR = [["planar graphs", "color"], ["best outputs"], ["short note", "prime numbers"]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    def lines(name: str, values: list[dict[str, object]]) -> None:
        (tmp_path / name).write_text("".join(json.dumps(value) + "\n" for value in values))

    lines(
        "docs.jsonl",
        [{"id": i, "title": t, "abstract": b, "keywords": k} for i, t, b, k in DOCUMENTS],
    )
    for name, lists in (("good", GOOD), ("poor", POOR)):
        lines(
            f"{name}.jsonl",
            [{"document_id": d[0], "phrases": p} for d, p in zip(DOCUMENTS, lists, strict=True)],
        )
    return tmp_path


def test_json_has_the_scores_of_evaluate_and_every_difference(keywright: Run, folder: Path) -> None:
    done = keywright(
        "compare", "--documents", "docs.jsonl", "good.jsonl", "poor.jsonl",
        "--metrics", "present.F1@M,all.micro.F1@M", "--classical", "--format", "json", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    for name in ("good", "poor"):
        expected = evaluate(folder / "docs.jsonl", folder / f"{name}.jsonl").scores
        for metric, score in found["scores"][name].items():
            assert score == pytest.approx(expected[metric], abs=1e-12)
    first = found["differences"][0]
    assert (first["metric"], first["a"], first["b"]) == ("present.F1@M", "good", "poor")
    assert set(first["p"]) == set(first["corrected"]) == {"bootstrap", "permutation", "classical"}
    assert first["exact"]


def test_the_table_states_what_its_p_values_are(keywright: Run, folder: Path) -> None:
    done = keywright("compare", "--documents", "docs.jsonl", "good.jsonl", "poor.jsonl", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "good - poor" in done.stdout
    assert "two-sided, (b + 1) / (m + 1)" in done.stdout
    assert "Holm: corrected over all tests of a kind" in done.stdout
    assert "protocol:chan19" in done.stdout


@pytest.mark.parametrize(
    ("format", "start"), [("latex", r"\begin{tabular}"), ("markdown", "| metric |")]
)
def test_formats_for_papers(keywright: Run, folder: Path, format: str, start: str) -> None:
    done = keywright(
        "compare", "--documents", "docs.jsonl", "good.jsonl", "poor.jsonl", "--format", format,
        "--resamples", "100", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(start)


def test_tsv_keeps_the_full_precision(keywright: Run, folder: Path) -> None:
    done = keywright(
        "compare", "--documents", "docs.jsonl", "good.jsonl", "poor.jsonl", "--format", "tsv",
        "--metrics", "all.P@M", "--test", "permutation", "--correction", "none", cwd=folder,
    )  # fmt: skip
    head, row = (line.split("\t") for line in done.stdout.splitlines())
    found = dict(zip(head, row, strict=True))
    assert float(found["score_b"]) == pytest.approx(1 / 3, abs=1e-15)  # 1 of 2, 0 of 1, 1 of 2
    assert "p_permutation" in found
    assert not any(name.startswith(("p_bootstrap", "holm_")) for name in found)


def test_a_baseline_and_names(keywright: Run, folder: Path) -> None:
    done = keywright(
        "compare", "--documents", "docs.jsonl", "good.jsonl", "poor.jsonl", "good.jsonl",
        "--names", "new,old,newer", "--baseline", "old", "--metrics", "all.F1@M",
        "--format", "json", cwd=folder,
    )  # fmt: skip
    pairs = [(pair["a"], pair["b"]) for pair in json.loads(done.stdout)["differences"]]
    assert pairs == [("new", "old"), ("newer", "old")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["good.jsonl"], "comparing needs at least 2 systems"),
        (["good.jsonl", "poor.jsonl", "--metrics", "present.F3@5"], "unknown measure"),
        (["good.jsonl", "poor.jsonl", "--baseline", "god"], "did you mean 'good'?"),
        (["good.jsonl", "poor.jsonl", "--test", "t"], "unknown test 't'"),
        (["good.jsonl", "poor.jsonl", "--format", "xml"], "unknown format 'xml'"),
        (["good.jsonl", "poor.jsonl", "--names", "a,b,c"], "3 names for 2 systems"),
        (["good.jsonl", "none.jsonl"], "none.jsonl: no such file"),
    ],
)
def test_bad_arguments_give_a_one_line_error_and_exit_code_2(
    keywright: Run, folder: Path, arguments: list[str], message: str
) -> None:
    done = keywright("compare", "--documents", "docs.jsonl", *arguments, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_systems_with_different_documents_are_an_error(keywright: Run, folder: Path) -> None:
    poor = (folder / "poor.jsonl").read_text().replace('"d2"', '"d9"')
    (folder / "other.jsonl").write_text(poor)
    done = keywright(
        "compare", "--documents", "docs.jsonl", "good.jsonl", "other.jsonl", cwd=folder
    )
    assert done.returncode == 2
    assert (
        "other.jsonl: has no prediction for document 'd2' (number 2 in docs.jsonl)" in done.stderr
    )


def test_one_document_is_refused(keywright: Run, folder: Path) -> None:
    for name in ("docs", "good", "poor"):
        path = folder / f"{name}.jsonl"
        path.write_text(path.read_text().splitlines()[0] + "\n")
    done = keywright("compare", "--documents", "docs.jsonl", "good.jsonl", "poor.jsonl", cwd=folder)
    assert done.returncode == 2
    assert "needs at least 2 documents" in done.stderr


def test_overlap_has_shared_phrases_and_candidates_for_the_gold(
    keywright: Run, folder: Path
) -> None:
    done = keywright(
        "overlap", "--documents", "docs.jsonl", "good.jsonl", "poor.jsonl", "--least", "1",
        "--format", "json", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    present = found["overlaps"][0]
    assert present["shared"] == {"correct": 2, "wrong": 0}  # planar graphs, prime numbers
    assert {candidate["text"] for candidate in found["candidates"]} == {
        "color",
        "best outputs",
        "short note",
    }
    assert set(found["scores"]) >= {"good", "poor", "vote of 2"}


@pytest.mark.parametrize(
    ("verb", "format"),
    [("overlap", "table"), ("overlap", "markdown"), ("analyse", "tsv"), ("analyse", "latex")],
)
def test_tables_of_every_format(keywright: Run, folder: Path, verb: str, format: str) -> None:
    done = keywright(
        verb, "--documents", "docs.jsonl", "good.jsonl", "poor.jsonl", "--format", format,
        cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "good" in done.stdout


def test_overlap_needs_two_systems(keywright: Run, folder: Path) -> None:
    done = keywright("overlap", "--documents", "docs.jsonl", "good.jsonl", cwd=folder)
    assert done.returncode == 2
    assert "at least 2 systems" in done.stderr


def test_an_ensemble_can_be_compared_with_its_members(keywright: Run, folder: Path) -> None:
    """Its output is a prediction file like any other; the documents need no gold."""
    bare = [{"id": i, "title": t, "abstract": b} for i, t, b, _ in DOCUMENTS]
    (folder / "bare.jsonl").write_text("".join(json.dumps(record) + "\n" for record in bare))
    done = keywright(
        "ensemble", "--documents", "bare.jsonl", "good.jsonl", "poor.jsonl", "--method", "union",
        "--output", "union.jsonl", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    done = keywright(
        "compare", "--documents", "docs.jsonl", "union.jsonl", "good.jsonl",
        "--metrics", "all.R@M", "--format", "json", cwd=folder,
    )  # fmt: skip
    scores = json.loads(done.stdout)["scores"]
    assert scores["union"]["all.R@M"] == scores["good"]["all.R@M"] == pytest.approx(5 / 6)


def test_an_unknown_method_is_refused(keywright: Run, folder: Path) -> None:
    done = keywright(
        "ensemble", "--documents", "docs.jsonl", "good.jsonl", "poor.jsonl", "--method", "votes",
        "--output", "x.jsonl", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 2
    assert "did you mean 'vote'?" in done.stderr
    assert not (folder / "x.jsonl").exists()


def test_analyses_of_one_system(keywright: Run, folder: Path) -> None:
    done = keywright(
        "analyse", "--documents", "docs.jsonl", "good.jsonl", "--format", "json", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["diversity"]["good"]["phrases"] == pytest.approx(5 / 3)
    assert found["numbers"][0]["system"] == "good"


def test_comparing_imports_no_torch(keywright: Run, folder: Path) -> None:
    import subprocess
    import sys

    script = (
        "import sys; sys.argv = ['keywright', 'compare', '--documents', 'docs.jsonl', "
        "'good.jsonl', 'poor.jsonl', '--resamples', '100', '--classical']\n"
        "from keywright.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "assert 'torch' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=folder, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_seed_below_0_is_refused(keywright: Run, folder: Path) -> None:
    done = keywright(
        "compare", "--documents", "docs.jsonl", "good.jsonl", "poor.jsonl", "--seed", -1, cwd=folder
    )
    assert done.returncode == 2
    assert "--seed" in done.stderr
    assert "Traceback" not in done.stderr
