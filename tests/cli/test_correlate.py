"""`keywright correlate` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from keywright.data.writers import write_documents, write_predictions
from tests.analysis.toy import DOCUMENTS, A, B, plain
from tests.cli.conftest import Run

HEAD = "document,annotator,rating\n"
RATINGS = HEAD + "d1,ann,3\nd2,ann,4\nd3,ann,1\nd1,ben,4\nd2,ben,5\nd3,ben,2\n"
COMMON = ("--documents", "docs.jsonl", "--predictions", "a.jsonl")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_documents(DOCUMENTS, tmp_path / "docs.jsonl")
    write_predictions(plain(A), tmp_path / "a.jsonl")
    write_predictions(plain(B), tmp_path / "b.jsonl")
    (tmp_path / "ratings.csv").write_text(RATINGS)
    (tmp_path / "scores.tsv").write_text("document\tfb\nd1\t0.5\nd2\t0.75\nd3\t0.25\n")
    return tmp_path


def test_the_table_says_what_it_shows(keywright: Run, folder: Path) -> None:
    done = keywright("correlate", "--ratings", "ratings.csv", *COMMON, cwd=folder)
    assert done.returncode == 0, done.stderr
    for part in ("all.F1@M", "ann and ben", "Krippendorff's alpha", "3 documents, 2 annotators"):
        assert part in done.stdout
    assert "1,000 bootstrap resamples of documents" in done.stdout


def test_json_has_metrics_and_scores_from_elsewhere(keywright: Run, folder: Path) -> None:
    done = keywright(
        "correlate", "--ratings", "ratings.csv", *COMMON, "--metrics", "all.Predicted",
        "--scores", "scores.tsv", "--resamples", "100", "--format", "json", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    rows = {(row["a"], row["b"]): row["coefficients"] for row in found["correlations"]}
    assert set(rows) == {(a, b) for a in ("all.Predicted", "fb") for b in (None, "ann", "ben")}
    # 4, 3 and 0 phrases against mean ratings 3.5, 4.5 and 1.5.
    assert rows["all.Predicted", None]["kendall"]["value"] == pytest.approx(1 / 3)
    assert rows["fb", "ben"]["spearman"]["value"] == pytest.approx(1)
    assert found["agreement"]["alpha"]["interval"]["value"] < 1


def test_scores_alone_need_no_documents(keywright: Run, folder: Path) -> None:
    done = keywright(
        "correlate", "--ratings", "ratings.csv", "--scores", "scores.tsv", "--resamples", "0",
        "--format", "tsv", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    head, first, *_ = (line.split("\t") for line in done.stdout.splitlines())
    row = dict(zip(head, first, strict=True))
    assert (row["between"], row["a"], row["b"], row["coefficient"]) == (
        "ratings", "fb", "mean", "pearson"
    )  # fmt: skip
    assert 0.9 < float(row["value"]) < 1
    assert row["low"] == ""
    assert "annotators\tall\tall\t3\talpha_ordinal" in done.stdout


def test_several_systems(keywright: Run, folder: Path) -> None:
    rows = [(d, s, n) for n, (d, s) in enumerate((d, s) for d in ("d1", "d2", "d3") for s in "ab")]
    text = "".join(f"{d},{s},ann,{n}\n" for d, s, n in rows)
    (folder / "systems.csv").write_text("document,system,annotator,rating\n" + text)
    done = keywright(
        "correlate", "--ratings", "systems.csv", "--documents", "docs.jsonl", "--predictions",
        "a.jsonl", "b.jsonl", "--metrics", "all.F1@M", "--format", "markdown", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "| all.F1@M | ann | 6 |" in done.stdout
    assert "6 predictions for 3 documents, 1 annotator." in done.stdout
    assert "alpha" not in done.stdout


def test_a_scatter_plot(keywright: Run, folder: Path) -> None:
    pytest.importorskip("matplotlib")
    done = keywright(
        "correlate", "--ratings", "ratings.csv", *COMMON, "--metrics", "all.F1@M,absent.F1@M",
        "--plot", "scatter.svg", "--resamples", "0", "--format", "latex", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert r"\begin{tabular}" in done.stdout
    text = (folder / "scatter.svg").read_text()
    assert "absent.F1@M" in text
    assert "mean rating" in text


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        (RATINGS, [], "there is nothing to correlate with the ratings"),
        (RATINGS, ["--documents", "docs.jsonl"], "--documents and --predictions go together"),
        (RATINGS, ["--scores", "scores.tsv", "--metrics", "all.P@M"], "--metrics needs"),
        (RATINGS, [*COMMON, "--metrics", "all.F9@M"], "unknown measure"),
        (RATINGS, [*COMMON, "--plot", "x.pdf"], "must end in .svg or .png"),
        (RATINGS, ["--scores", "none.tsv"], "none.tsv: no such file"),
        (HEAD, [*COMMON], "ratings.csv: has a header and no ratings"),
        ("document,rating\nd1,1\n", [*COMMON], "ratings.csv:1: has no column 'annotator'"),
        (RATINGS + "d4,ann,1\n", [*COMMON], "ratings.csv:8: document 'd4' is not in docs.jsonl"),
        (RATINGS + "d4,ann,x\n", [*COMMON], "ratings.csv:8: 'rating' is 'x', not a number"),
        (HEAD + "d1,ann,1\nd2,ann,2\n", [*COMMON], "ratings.csv: has ratings of 2 items"),
        (HEAD + "d1,a,2\nd2,a,2\nd3,a,2\n", [*COMMON], "ratings.csv:2: gives all 3 items the same"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    keywright: Run, folder: Path, text: str, arguments: list[str], message: str
) -> None:
    (folder / "ratings.csv").write_text(text)
    done = keywright("correlate", "--ratings", "ratings.csv", *arguments, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_a_score_may_not_have_the_name_of_a_metric(keywright: Run, folder: Path) -> None:
    (folder / "scores.tsv").write_text("document\tall.F1@M\nd1\t0.5\nd2\t0.75\nd3\t0.25\n")
    done = keywright(
        "correlate", "--ratings", "ratings.csv", *COMMON, "--scores", "scores.tsv", cwd=folder
    )
    assert done.returncode == 2
    assert "the score 'all.F1@M' has the name of a metric" in done.stderr
