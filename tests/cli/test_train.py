"""`keywright train` as a user runs it."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from keywright import config as configs
from keywright.cli import app, main
from keywright.training import run as runs
from tests.training.conftest import tiny, write_corpus


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small config; the command is run in the folder it lies in."""
    monkeypatch.chdir(tmp_path)
    write_corpus(tmp_path / "train.jsonl", 16, seed=1)
    write_corpus(tmp_path / "valid.jsonl", 4, seed=2)
    path = tmp_path / "little.toml"
    path.write_text(configs.to_toml(configs.parse(tiny(tmp_path))))
    return path


def train(*arguments: object) -> tuple[int, str]:
    found = CliRunner().invoke(app, ["train", *map(str, arguments)], catch_exceptions=False)
    return found.exit_code, found.stderr


@pytest.fixture
def fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """The one line on standard error of a run that ends with exit code 2."""

    def fails(*arguments: object) -> str:
        monkeypatch.setattr("sys.argv", ["keywright", "train", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit:
            main()
        assert exit.value.code == 2
        (line,) = capsys.readouterr().err.splitlines()
        return line

    return fails


def test_a_run_goes_to_a_folder_named_after_its_config(config: Path) -> None:
    code, output = train(config)
    assert code == 0
    assert "finished after 4 updates: runs/little" in output
    assert "stage 1 update 2: loss" in output
    assert runs.load("runs/little").config.model.name == "transformer_one2seq"


def test_a_run_is_stopped_by_time_and_resumed(config: Path) -> None:
    code, output = train(config, "--run", "mine", "--minutes", "1e-6")
    assert code == 0
    assert "stopped after 1 updates; the same command with --resume goes on" in output
    code, output = train(config, "--run", "mine", "--resume")
    assert code == 0
    assert "finished after 4 updates: mine" in output


def test_settings_are_overridden(config: Path) -> None:
    assert train(config, "--set", "train.seed=7", "--set", "train.stage[0].updates=1")[0] == 0
    saved = configs.load("runs/little/config.toml")
    assert saved.train.seed == 7
    assert saved.train.stage[0].updates == 1


def test_what_is_wrong_is_one_line(config: Path, fails) -> None:
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
    assert "runs/little: a run is there already; --resume continues it" in fails(config)
