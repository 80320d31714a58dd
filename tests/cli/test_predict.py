"""`keywright predict` as a user runs it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from keywright.cli import app, main
from keywright.data import writers
from keywright.data.predictions import read_predictions
from keywright.data.writers import prediction_line
from keywright.types import Document
from tests.runs import untrained_run

DOCUMENTS = [
    Document(id=str(i), title=f"Slow rivers {i}", body="The river carries sand . " * (1 + i % 7))
    for i in range(36)
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "documents.jsonl"
    writers.write_documents(DOCUMENTS, path)
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    return untrained_run(tmp_path_factory.mktemp("runs") / "run", DOCUMENTS)


def predict(*arguments: object, code: int = 0):
    result = CliRunner().invoke(app, ["predict", *map(str, arguments)])
    assert result.exit_code == code, (result.output, result.exception)
    return result


def fails(monkeypatch, capsys, *arguments: object) -> str:
    """The single line on standard error of a command that ends with exit code 2."""
    monkeypatch.setattr("sys.argv", ["keywright", "predict", *map(str, arguments)])
    with pytest.raises(SystemExit) as exit:
        main()
    assert exit.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_a_model_writes_one_line_per_document(run, corpus, tmp_path):
    output = tmp_path / "p.jsonl"
    result = predict("--model", run, "--documents", corpus, "--output", output)
    assert "36 documents in" in result.stderr
    predictions = list(read_predictions(output))
    assert [p.document_id for p in predictions] == [d.id for d in DOCUMENTS]
    assert any(phrase.token_log_probs for p in predictions for phrase in p.phrases)
    assert list(tmp_path.iterdir()) == [output]


def test_an_extractor_is_a_model_too(corpus, tmp_path):
    output = tmp_path / "p.jsonl.gz"
    predict(
        *("--model", "textrank", "--documents", corpus, "--output", output),
        *("--set", "max_phrases=1"),
    )
    assert {p.texts for p in read_predictions(output)} == {("slow rivers",)}


def test_predictions_can_be_printed(corpus):
    result = predict("--model", "tfidf", "--documents", corpus, "--output", "-")
    first = json.loads(result.stdout.splitlines()[0])
    assert first["document_id"] == "0"


def test_strategy_and_settings_change_the_predictions(run, corpus, tmp_path):
    few, other = tmp_path / "few.jsonl", tmp_path / "other.jsonl"
    common = ("--model", run, "--documents", corpus, "--output")
    predict(*common, few, "--decode", "exhaustive", "--set", "width=4", "--set", "max_phrases=2")
    predict(*common, other, "--decode", "greedy", "--batch", 3)
    assert {len(p.phrases) for p in read_predictions(few)} <= {0, 1, 2}
    assert few.read_bytes() != other.read_bytes()


@pytest.mark.parametrize("stop", [1, 16, 33])
def test_an_interrupted_run_is_continued_with_the_same_result(
    run, corpus, tmp_path, monkeypatch, stop
):
    whole, output = tmp_path / "whole.jsonl", tmp_path / "p.jsonl"
    common = ("--model", run, "--documents", corpus, "--batch", 1, "--output")
    predict(*common, whole)

    def interrupted(prediction, number):
        if number > stop:
            raise KeyboardInterrupt
        return prediction_line(prediction, number)

    with monkeypatch.context() as patch:
        patch.setattr(writers, "prediction_line", interrupted)
        result = predict(*common, output, code=130)
    assert f"stopped after {stop} documents; --resume continues" in result.stderr
    assert not output.exists()
    with (tmp_path / "p.jsonl.part").open("ab") as file:
        file.write(b'{"document_id":"cut off')
    predict(*common, output, "--resume")
    assert output.read_bytes() == whole.read_bytes()
    assert "is already complete" in predict(*common, output, "--resume").stderr


@pytest.mark.slow
def test_a_killed_run_is_continued_with_the_same_result(run, corpus, tmp_path):
    whole, output = tmp_path / "whole.jsonl", tmp_path / "p.jsonl"
    common = ["--model", str(run), "--documents", str(corpus), "--batch", "1"]
    command = [sys.executable, "-c", "from keywright.cli import main; main()", "predict", *common]
    slow = ["--decode", "exhaustive", "--set", "max_length=30", "--set", "width=30"]
    predict(*common, *slow, "--output", whole)
    process = subprocess.Popen([*command, *slow, "--output", output], stderr=subprocess.DEVNULL)
    part = tmp_path / "p.jsonl.part"
    deadline = time.monotonic() + 600
    while not (part.exists() and part.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not output.exists()
    predict(*common, *slow, "--output", output, "--resume")
    assert output.read_bytes() == whole.read_bytes()


def test_bad_input_is_one_line(run, corpus, tmp_path, monkeypatch, capsys):
    output = tmp_path / "p.jsonl"

    def error(*arguments: object, model: object = run, documents: object = corpus) -> str:
        common = ("--model", model, "--documents", documents, "--output", output)
        return fails(monkeypatch, capsys, *common, *arguments)

    assert "is neither the folder of a model nor an extractor" in error(model="no-such-run")
    assert "no such file" in error(documents=tmp_path / "none.jsonl")
    assert "did you mean 'beam'" in error("--decode", "baem")
    assert "decode.wdith: unknown setting" in error("--decode", "beam", "--set", "wdith=3")
    assert "choose one" in error("--resume", "--force")
    output.write_text("precious\n")
    assert "already exists; --force replaces it" in error()
    assert output.read_text() == "precious\n"


def test_a_bad_document_is_found_before_anything_is_predicted(run, tmp_path, monkeypatch, capsys):
    broken = tmp_path / "broken.jsonl"
    good = json.dumps({"title": "a", "abstract": "b", "keywords": []})
    broken.write_text(f"{good}\n{good}\nnot json\n")
    output = tmp_path / "p.jsonl"
    line = fails(monkeypatch, capsys, "--model", run, "--documents", broken, "--output", output)
    assert "broken.jsonl:3" in line
    assert [file.name for file in tmp_path.iterdir()] == ["broken.jsonl"]


def test_extractors_need_no_torch(corpus):
    arguments = ["--model", "textrank", "--documents", str(corpus), "--output", "-"]
    code = (
        "import sys\n"
        "from keywright.cli import main\n"
        f"sys.argv = ['keywright', 'predict', *{arguments}]\n"
        "try:\n    main()\n"
        "except SystemExit as exit:\n    assert not exit.code\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == len(DOCUMENTS)


def test_changed_documents_are_not_continued(monkeypatch, capsys, tmp_path):
    corpus, output = tmp_path / "documents.jsonl", tmp_path / "p.jsonl"
    writers.write_documents(DOCUMENTS, corpus)
    arguments = ("--model", "tfidf", "--documents", corpus, "--output", output)
    appended = iter(range(10))

    def stopped(*_):
        if next(appended, None) is None:
            raise KeyboardInterrupt
        return b"{}\n"

    with monkeypatch.context() as patch:
        patch.setattr("keywright.data.writers.prediction_line", stopped)
        predict(*arguments, code=130)
    writers.write_documents(DOCUMENTS[::-1], corpus)
    line = fails(monkeypatch, capsys, *arguments, "--resume")
    assert "cannot be continued: changed since it was begun: documents" in line
    predict(*arguments, "--force")
    assert [p.document_id for p in read_predictions(output)] == [d.id for d in DOCUMENTS[::-1]]
