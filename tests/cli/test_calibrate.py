"""`keywright calibrate` as users run it: numbers, recalibration, thresholds, bad input."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from keywright.cli import main
from tests.cli.conftest import Run

WORDS = (
    "alpha", "bravo", "delta", "echo", "hotel", "india", "kilo", "lima", "mike", "oscar", "papa",
    "quebec", "romeo", "tango",
)  # fmt: skip


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def corpus(folder: Path, count: int = 60, seed: int = 0, probabilities: bool = True) -> list[str]:
    """Documents and predictions of a model whose confidences are twice too high."""
    lot = random.Random(seed)
    documents, predictions = [], []
    for number in range(count):
        text, gold, phrases = lot.sample(WORDS, 10), [], []
        for word in [*lot.sample(text, 4), *(f"absent{number}{i}" for i in range(2))]:
            sure = lot.random()
            if lot.random() < sure / 2:
                gold.append(word)
            logs = {"token_probs": [sure]} if probabilities else {}
            phrases.append({"text": word, **logs})
        gold.append("nobody finds this")
        documents.append({"id": f"{number}", "title": "", "abstract": " ".join(text) + " .",
                          "keywords": gold})  # fmt: skip
        predictions.append({"id": f"{number}", "phrases": phrases})
    return [
        "--documents", str(write(folder / "documents.jsonl", documents)),
        "--predictions", str(write(folder / "predictions.jsonl", predictions)),
    ]  # fmt: skip


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command line in this process, because starting processes takes long."""

    def call(*arguments: object) -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr(sys, "argv", ["keywright", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main()
        printed = capsys.readouterr()
        code = int(stopped.value.code or 0)
        return subprocess.CompletedProcess(arguments, code, printed.out, printed.err)

    return call


def ok(run: Run, *arguments: object) -> str:
    done = run("calibrate", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def error(run: Run, *arguments: object) -> str:
    """The error for bad input: one line, and exit code 2."""
    done = run("calibrate", *arguments)
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert done.stderr.startswith("keywright: error: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_json_has_every_analysis(keywright: Run, tmp_path: Path) -> None:
    found = json.loads(ok(keywright, *corpus(tmp_path), "--format", "json", "--resamples", 50))
    assert found["documents"] == 60
    assert found["confidence"] == "kpp"
    assert set(found["parts"]) == {"present", "absent", "all"}
    present = found["parts"]["present"]
    assert present["phrases"] == 240
    assert set(present["scores"]) == {"ECE", "MCE", "ACE", "Brier", "AUROC"}
    low, high = present["intervals"]["ECE"]
    assert 0.1 < low < present["scores"]["ECE"] < high < 0.4  # half of confidence is 0.25 off
    assert sum(bin["count"] for bin in present["bins"]) == 240
    assert found["perplexity"]["present"]["median"] > 1
    assert found["tokens"]["absent"][0]["count"] == 120
    assert len(found["sections"]["accuracy"]) == 5
    assert found["notes"] == []


def test_the_table_has_the_main_results(run: Run, tmp_path: Path) -> None:
    found = ok(run, *corpus(tmp_path), "--resamples", 50)
    for said in ("60 documents", "1/KPP", "(ECE)", "AUROC", "Reliability", "80–100", "chan19"):
        assert said in found


@pytest.mark.parametrize("format", ["markdown", "latex", "tsv"])
def test_other_formats(run: Run, tmp_path: Path, format: str) -> None:
    found = ok(run, *corpus(tmp_path), "--resamples", 20, "--format", format)
    mark = {"markdown": "| --- |", "latex": r"\toprule", "tsv": "present\tECE\t0."}[format]
    assert mark in found


def test_fit_then_apply_to_other_documents(run: Run, tmp_path: Path) -> None:
    (tmp_path / "valid").mkdir()
    (tmp_path / "test").mkdir()
    valid, test = corpus(tmp_path / "valid", 200), corpus(tmp_path / "test", 200, seed=1)
    recalibrator, output = tmp_path / "recalibrator.json", tmp_path / "after.jsonl"
    fast = ("--resamples", 20, "--format", "json")
    fitted = json.loads(ok(run, *valid, "--fit", "beta", "--output", recalibrator, *fast))
    assert "5-fold cross-validation" in fitted["recalibration"]["by"]
    for found in (
        fitted,
        json.loads(ok(run, *test, "--apply", recalibrator, "--output", output, *fast)),
    ):
        before, after = (found["recalibration"][when]["all"] for when in ("before", "after"))
        assert before["scores"]["ECE"] > 0.2
        assert after["scores"]["ECE"] < 0.06
        assert found["notes"] == []
    # What was written carries the probabilities, and is judged by them.
    again = json.loads(ok(run, *test[:2], "--predictions", output, *fast))
    assert again["confidence"] == "stated"
    assert again["parts"]["all"]["scores"]["ECE"] == after["scores"]["ECE"]


def test_applying_needs_no_gold(run: Run, tmp_path: Path) -> None:
    files = corpus(tmp_path)
    recalibrator, output = tmp_path / "recalibrator.json", tmp_path / "after.jsonl"
    ok(run, *files, "--fit", "logistic", "--output", recalibrator, "--resamples", 0)
    bare = write(tmp_path / "bare.jsonl", [
        {key: value for key, value in json.loads(line).items() if key != "keywords"}
        for line in (tmp_path / "documents.jsonl").read_text().splitlines()
    ])  # fmt: skip
    done = run("calibrate", "--documents", bare, *files[2:], "--apply", recalibrator,
                     "--output", output)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "no gold keyphrases" in done.stderr
    records = [json.loads(line) for line in output.read_text().splitlines()]
    assert len(records) == 60
    assert all(0 <= phrase["confidence"] <= 1 for record in records for phrase in record["phrases"])


def test_applying_a_recalibrator_to_its_own_documents_is_noted(run: Run, tmp_path: Path) -> None:
    files, path = corpus(tmp_path), tmp_path / "recalibrator.json"
    ok(run, *files, "--fit", "platt", "--output", path, "--resamples", 0)
    assert "fitted on these same documents" in ok(run, *files, "--apply", path)


def test_threshold_for_a_precision(run: Run, tmp_path: Path) -> None:
    files = [*corpus(tmp_path, 300), "--fit", "beta", "--resamples", 100]
    found = json.loads(ok(run, *files, "--threshold-for", "precision=0.4", "--format", "json"))
    present = next(part for part in found["thresholds"] if part["part"] == "present")
    # Right with probability p, p even between 0 and 1/2: above t, (t + 1/2) / 2 are right.
    assert present["threshold"] == pytest.approx(0.3, abs=0.08)
    assert present["precision"] == pytest.approx(0.4, abs=0.06)
    assert present["recall"] < present["recall_without"]
    assert set(present["intervals"]) == {"precision", "recall", "recall_without"}
    out_of_reach = ok(run, *files, "--threshold-for", "precision=0.99")
    assert "not reached" in out_of_reach


def test_plots_are_drawn(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    ok(run, *corpus(tmp_path), "--resamples", 0, "--plots", tmp_path / "plots")
    assert {path.name for path in (tmp_path / "plots").iterdir()} == {
        "reliability.svg", "perplexity.svg", "tokens.svg", "sections.svg"
    }  # fmt: skip


def test_without_probabilities_it_says_what_is_left_out(run: Run, tmp_path: Path) -> None:
    files = corpus(tmp_path, probabilities=False)
    found = ok(run, *files)
    assert "left out: no phrase has token probabilities" in found
    assert "Present gold phrases by where they first occur" in found
    assert "no phrase with token probabilities or a confidence to fit" in error(
        run, *files, "--fit", "beta"
    )


def test_one_document(run: Run, tmp_path: Path) -> None:
    found = ok(run, *corpus(tmp_path, 1), "--fit", "platt", "--threshold-for", "precision=0.5")
    assert "intervals are left out" in found
    assert "recalibration is not measured" in found
    assert "the threshold is left out" in found


def test_a_part_in_one_document_only_cannot_be_cross_validated(run: Run, tmp_path: Path) -> None:
    documents = [{"title": "", "abstract": "alpha .", "keywords": ["alpha"]}] * 4
    phrases = [[{"text": "alpha", "token_probs": [0.5]}] for _ in documents]
    phrases[0].append({"text": "omega", "token_probs": [0.5]})
    files = [
        "--documents", write(tmp_path / "d.jsonl", documents),
        "--predictions", write(tmp_path / "p.jsonl", [{"phrases": made} for made in phrases]),
    ]  # fmt: skip
    found = ok(run, *files, "--fit", "beta", "--resamples", 20)
    assert "1 phrases are not recalibrated" in found


@pytest.mark.parametrize("all_right", [True, False])
def test_all_or_none_correct(run: Run, tmp_path: Path, all_right: bool) -> None:
    gold = "alpha" if all_right else "omega"
    files = [
        "--documents",
        write(tmp_path / "d.jsonl", [{"title": "", "abstract": "alpha .", "keywords": [gold]}] * 3),
        "--predictions",
        write(tmp_path / "p.jsonl", [{"phrases": [{"text": "alpha", "token_probs": [0.5]}]}] * 3),
    ]
    found = ok(run, *files, "--fit", "logistic", "--resamples", 20)
    assert "AUROC of present phrases is left out" in found
    assert "50.00" in found  # the calibration error is still known


def test_bad_probabilities_name_the_line(run: Run, tmp_path: Path) -> None:
    files = corpus(tmp_path)
    for bad in ([1.5], [-0.1]):
        write(Path(files[3]), [{"id": "0", "phrases": [{"text": "a", "token_probs": bad}]}])
        said = error(run, *files)
        assert "predictions.jsonl:1:" in said
        assert "must be in [0, 1]" in said
    Path(files[3]).write_text('{"id": "0", "phrases": [{"text": "a", "token_probs": [NaN]}]}\n')
    assert "predictions.jsonl:1:" in error(run, *files)


def test_bad_requests(run: Run, tmp_path: Path) -> None:
    files = corpus(tmp_path, 3)
    assert "did you mean 'isotonic'" in error(run, *files, "--fit", "isotonc")
    assert "cannot be combined" in error(run, *files, "--fit", "beta", "--apply", "x.json")
    assert "--output needs --fit" in error(run, *files, "--output", tmp_path / "x")
    assert "--fit logistic" in error(run, *files, "--fit", "beta", "--features", "rank")
    assert "feature" in error(run, *files, "--fit", "logistic", "--features", "mood")
    for wrong in ("recall=0.5", "precision=2", "precision", "precision=x"):
        assert "precision=0.8" in error(run, *files, "--threshold-for", wrong)
    assert "no such file" in error(run, *files, "--apply", tmp_path / "none.json")
    (tmp_path / "bad.json").write_text("{}")
    assert "is not a recalibrator" in error(run, *files, "--apply", tmp_path / "bad.json")
    assert "unknown protocol" in error(run, *files, "--protocol", "chan91")
    assert "cannot be written" in error(
        run, *files, "--fit", "beta", "--output", tmp_path / "no" / "where.json"
    )


def test_no_gold_at_all(run: Run, tmp_path: Path) -> None:
    files = corpus(tmp_path, 2)
    records = [json.loads(line) for line in Path(files[1]).read_text().splitlines()]
    write(Path(files[1]), [{**record, "keywords": []} for record in records])
    assert "none of the 2 documents has a gold keyphrase" in error(run, *files)


def test_documents_that_do_not_match(run: Run, tmp_path: Path) -> None:
    files = corpus(tmp_path, 3)
    kept = Path(files[3]).read_text().splitlines()[:2]
    Path(files[3]).write_text("\n".join(kept) + "\n")
    assert "no prediction for document '2'" in error(run, *files)


def test_stated_confidences_are_recalibrated_without_token_probabilities(
    run: Run, tmp_path: Path
) -> None:
    documents, predictions = corpus(tmp_path)[1::2]
    lines = [json.loads(line) for line in Path(predictions).read_text().splitlines()]
    for line in lines:
        for phrase in line["phrases"]:
            (phrase["confidence"],) = phrase.pop("token_probs")
    Path(predictions).write_text("".join(json.dumps(line) + "\n" for line in lines))
    fitted = tmp_path / "fitted.json"
    files = ("--documents", documents, "--predictions", predictions)
    told = ok(run, *files, "--fit", "beta", "--output", fitted, "--format", "json")
    fold = json.loads(told)["recalibration"]
    assert fold["after"]["present"]["scores"]["ECE"] < fold["before"]["present"]["scores"]["ECE"]
    assert json.loads(fitted.read_text())["source"] == "stated"
    again = tmp_path / "again.jsonl"
    told = ok(run, *files, "--apply", fitted, "--output", again, "--format", "json")
    assert json.loads(told)["recalibration"]["before"] == fold["before"]
    before = [phrase["confidence"] for line in lines for phrase in line["phrases"]]
    after = [
        phrase["confidence"]
        for line in again.read_text().splitlines()
        for phrase in json.loads(line)["phrases"]
    ]
    # The confidences were twice too high.
    assert sum(after) == pytest.approx(sum(before) / 2, rel=0.15)
