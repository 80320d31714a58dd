"""`keywright plot` as a user meets it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analysis.logs import LATER, LINES, write
from tests.cli.conftest import Run

pytest.importorskip("matplotlib")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "runs" / "cat_seq-nll", LINES)
    write(tmp_path / "runs" / "cat_seq-rl", LINES + LATER, '{"kind":"train","upd')
    return tmp_path


def test_runs_are_drawn_under_their_short_names(keywright: Run, folder: Path) -> None:
    done = keywright(
        "plot", "runs/cat_seq-nll", "runs/cat_seq-rl", "--output", "curves.svg", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == (
        "curves.svg: loss, valid.loss, valid.present.F1@M, nll, reward, learning_rate, "
        "documents_per_second\n"
    )
    text = (folder / "curves.svg").read_text()
    assert ">nll<" in text
    assert ">rl<" in text
    assert "documents seen" in text


def test_values_axis_stage_and_names_can_be_chosen(keywright: Run, folder: Path) -> None:
    done = keywright(
        "plot", "runs/cat_seq-rl", "--output", "reward.svg", "--values", "reward", "--by",
        "updates", "--stage", "2", "--names", "policy", "--smooth", "0", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    text = (folder / "reward.svg").read_text()
    assert ">policy<" in text
    assert "updates" in text
    assert "Training loss" not in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["runs/cat_seq-rl", "--output", "x.pdf"], "x.pdf: the name of a plot must end in .svg"),
        (["runs/none", "--output", "x.svg"], "runs/none: no such file"),
        (["runs", "--output", "x.svg"], "runs: has no metrics.jsonl: it is not a run folder"),
        (["runs/cat_seq-rl", "--output", "x.svg", "--values", "los"], "did you mean 'loss'?"),
        (["runs/cat_seq-rl", "--output", "x.svg", "--by", "hours"], "unknown axis 'hours'"),
        (["runs/cat_seq-nll", "--output", "x.svg", "--stage", "2"], "1 stage has begun"),
        (["runs/cat_seq-rl", "--output", "none/x.svg"], "none/x.svg: cannot be written"),
    ],
)
def test_bad_arguments_are_one_line_and_exit_code_2(
    keywright: Run, folder: Path, arguments: list[str], message: str
) -> None:
    done = keywright("plot", *arguments, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not list(folder.glob("x.*"))
