"""`keywright export` as a user runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.models.conftest import DOCUMENTS, TINY
from tests.runs import untrained_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = {"name": "transformer_one2set", **TINY["transformer_one2set"]}
    decode = {"name": "greedy", "max_phrase": 3}
    return untrained_run(tmp_path_factory.mktemp("runs") / "run", DOCUMENTS, model, decode)


def test_an_exported_model_predicts(keywright, run, tmp_path):
    done = keywright("export", run, "--int8", "--output", tmp_path / "small")
    assert done.returncode == 0, done.stderr
    assert "log-probabilities differ from torch's by" in done.stdout
    texts = tmp_path / "documents.jsonl"
    texts.write_text('{"id": "1", "title": "Rivers", "body": "A river carries sand."}\n')
    arguments = ("--model", tmp_path / "small", "--documents", texts, "--output", "-")
    done = keywright("predict", *arguments)
    assert done.returncode == 0, done.stderr
    assert "token_log_probs" in done.stdout


def test_the_output_is_in_the_run_folder_by_default(keywright, run):
    done = keywright("export", run)
    assert done.returncode == 0, done.stderr
    assert (run / "onnx" / "manifest.json").is_file()
    again = keywright("export", run)
    assert again.returncode == 2
    assert "exists and is not an empty folder" in again.stderr


def test_a_folder_that_is_not_a_run_is_an_error_of_one_line(keywright, tmp_path):
    done = keywright("export", tmp_path)
    assert done.returncode == 2
    assert "is not a run folder" in done.stderr
    assert done.stderr.count("\n") == 1
