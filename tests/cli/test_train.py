"""`keywright train` as a user runs it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from keywright import config as configs
from keywright import runs
from keywright.cli import app, main
from keywright.data.writers import prediction_line
from keywright.evaluate import evaluate
from keywright.types import Prediction
from tests.training.conftest import tiny, write_corpus


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small config; the command is run in its folder."""
    monkeypatch.chdir(tmp_path)
    write_corpus(tmp_path / "train.jsonl", 16, seed=1)
    write_corpus(tmp_path / "valid.jsonl", 4, seed=2)
    path = tmp_path / "little.toml"
    path.write_text(configs.to_toml(configs.parse(tiny(tmp_path))))
    return path


@pytest.fixture
def scored(config: Path, tmp_path: Path) -> Path:
    """The same with two files of test documents."""
    for name in ("one", "two"):
        write_corpus(tmp_path / f"{name}.jsonl", 5, seed=len(name))
    table = tiny(tmp_path)
    table["evaluate"] = {
        "documents": ["one.jsonl", "two.jsonl"],
        "metrics": ["all.F1@M", "all.Dup"],
    }
    config.write_text(configs.to_toml(configs.parse(table)))
    return config


def train(*arguments: object) -> tuple[int, str]:
    found = CliRunner().invoke(app, ["train", *map(str, arguments)], catch_exceptions=False)
    return found.exit_code, found.stderr


@pytest.fixture
def fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """The single line on standard error of a command that ends with exit code 2."""

    def fails(*arguments: object) -> str:
        monkeypatch.setattr("sys.argv", ["keywright", "train", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit:
            main()
        assert exit.value.code == 2
        (line,) = capsys.readouterr().err.splitlines()
        return line

    return fails


def test_the_run_folder_is_named_after_the_config(config: Path) -> None:
    code, output = train(config)
    assert code == 0
    assert "finished after 4 updates: runs/little" in output
    assert "stage 1 update 2: loss" in output
    assert runs.load("runs/little").config.model.name == "transformer_one2seq"


def test_a_run_is_stopped_by_time_and_resumed(config: Path) -> None:
    code, output = train(config, "--run", "mine", "--minutes", "1e-6")
    assert code == 0
    assert "stopped after 1 updates; the same command with --resume continues" in output
    code, output = train(config, "--run", "mine", "--resume")
    assert code == 0
    assert "finished after 4 updates: mine" in output


def test_settings_are_overridden(config: Path) -> None:
    assert train(config, "--set", "train.seed=7", "--set", "train.stage[0].updates=1")[0] == 0
    saved = configs.load("runs/little/config.toml")
    assert saved.train.seed == 7
    assert saved.train.stage[0].updates == 1


def test_an_error_is_one_line(config: Path, fails) -> None:
    for arguments, expected in (
        (["--set", "model.droput=1"], "model.droput: unknown setting; did you mean 'dropout'?"),
        (["--set", "data.train=['none.jsonl']"], "none.jsonl: no such file"),
        (["--minutes", "-1"], "train.minutes: expected float > 0.0 (it is -1.0)"),
        (["--set", "train.seed"], "--set train.seed: write it as section.key=value"),
    ):
        line = fails(config, *arguments)
        assert line.startswith("keywright: error: ")
        assert expected in line
    assert not Path("runs").exists()
    assert "none.toml: cannot be read" in fails("none.toml")


def test_a_run_is_not_overwritten(config: Path, fails) -> None:
    assert train(config)[0] == 0
    assert "runs/little: already contains a run; --resume continues it" in fails(config)


def test_training_ends_with_the_final_scores(scored: Path) -> None:
    found = CliRunner().invoke(app, ["train", str(scored)], catch_exceptions=False)
    assert found.exit_code == 0
    title, _, head, _, one, two = found.stdout.splitlines()
    assert title.startswith("Scores of chan19")
    assert head.split() == ["documents", "count", "all.F1@M", "all.Dup"]
    assert one.split()[:2] == ["one", "5"]
    assert two.split()[:2] == ["two", "5"]
    folder = Path("runs/little")
    results = json.loads((folder / "scores.json").read_text())
    assert [entry["documents"] for entry in results] == ["one.jsonl", "two.jsonl"]
    again = evaluate("one.jsonl", folder / "predictions" / "1-one.jsonl", metrics=["all.F1@M"])
    assert results[0]["scores"]["all.F1@M"] == again["all.F1@M"]
    low, high = results[0]["intervals"]["all.F1@M"]
    assert low <= again["all.F1@M"] <= high
    # With --resume they are only printed.
    (folder / "predictions" / "1-one.jsonl").unlink()
    again = CliRunner().invoke(app, ["train", str(scored), "--resume"], catch_exceptions=False)
    assert again.stdout == found.stdout


def test_interrupted_scoring_is_continued(scored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = CliRunner().invoke(app, ["train", str(scored), "--run", "whole"])
    written = []

    def interrupted(prediction: Prediction, number: int) -> bytes:
        written.append(number)
        if len(written) == 8:
            raise KeyboardInterrupt
        return prediction_line(prediction, number)

    monkeypatch.setattr("keywright.final_scores.prediction_line", interrupted)
    code, output = train(scored, "--run", "r")
    assert code == 130
    assert "stopped while predicting; --resume continues" in output
    assert not Path("r/scores.json").exists()
    found = CliRunner().invoke(app, ["train", str(scored), "--run", "r", "--resume"])
    assert found.stdout == whole.stdout
    assert written == [1, 2, 3, 4, 5, 1, 2, 3, 3, 4, 5]
    for name in ("predictions/1-one.jsonl", "predictions/2-two.jsonl", "scores.json"):
        assert Path("r", name).read_bytes() == Path("whole", name).read_bytes()


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        (
            'evaluate.documents=["none.jsonl"]',
            r"evaluate\.documents\[0\]: none\.jsonl: no such file",
        ),
        ('evaluate.metrics=["present.F2@5"]', r"evaluate\.metrics: "),
    ],
)
def test_scores_that_cannot_be_computed_are_errors_before_training(
    scored: Path, fails, setting: str, expected: str
) -> None:
    assert re.search(expected, fails(scored, "--set", setting))
    assert not Path("runs").exists()
