"""The log of a run becomes curves: values, places, stages, names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from keywright.analysis import curves
from keywright.analysis.curves import default_values, read_run, run_names, selected_values, smoothed
from keywright.errors import DataError, KeywrightError, UnknownNameError
from tests.analysis.logs import LATER, LINES, line, write


def test_values_are_named_by_kind_and_placed_on_every_axis(tmp_path: Path) -> None:
    run = read_run(write(tmp_path / "run", LINES))
    assert run.names() == [
        "loss", "nll", "learning_rate", "documents_per_second", "valid.loss", "valid.present.F1@M"
    ]  # fmt: skip
    (loss,) = run.curves("loss", "documents")
    assert loss.x.tolist() == [10, 20, 30]
    assert loss.y.tolist() == [5, 3, 2]
    (valid,) = run.curves("valid.loss", "updates")
    assert valid.x.tolist() == [2, 3]
    assert valid.best.tolist() == [True, False]
    (rate,) = run.curves("learning_rate", "minutes")
    assert rate.x.tolist() == [0.5, 1.0, 1.5]
    assert (loss.noisy, valid.noisy, rate.noisy) == (True, False, False)


def test_a_later_stage_is_a_curve_of_its_own(tmp_path: Path) -> None:
    run = read_run(write(tmp_path / "run", LINES + LATER))
    first, second = run.curves("loss", "documents")
    assert (first.stage, first.y.tolist()) == (0, [5, 3, 2])
    assert (second.stage, second.y.tolist()) == (1, [0.1, -0.1])
    assert run.stage_starts("documents") == {1: 30.0}
    assert run.end("minutes") == 2.5


def test_one_stage_alone_is_counted_from_its_beginning(tmp_path: Path) -> None:
    run = read_run(write(tmp_path / "run", LINES + LATER))
    (reward,) = run.only(1).curves("reward", "documents")
    assert reward.x.tolist() == [10, 20]
    assert run.only(1).stage_starts("updates") == {}
    assert run.only(0).names() == read_run(write(tmp_path / "first", LINES)).names()
    with pytest.raises(KeywrightError, match="nothing of stage 3, 2 stages have begun"):
        run.only(2)


@pytest.mark.parametrize("rest", ['{"kind":"tr', '{"kind":"train","update":4,"stage":0', '{"é'])
def test_a_run_that_is_being_written_may_end_in_half_a_line(tmp_path: Path, rest: str) -> None:
    folder = write(tmp_path / "run", LINES)
    with (folder / "metrics.jsonl").open("ab") as file:
        file.write(rest.encode()[: len(rest)])  # also half a letter
    assert read_run(folder).entries == read_run(write(tmp_path / "whole", LINES)).entries


def test_a_whole_last_line_counts_without_its_end(tmp_path: Path) -> None:
    folder = write(tmp_path / "run", LINES)
    path = folder / "metrics.jsonl"
    path.write_text(path.read_text().removesuffix("\n"))
    assert len(read_run(path).entries) == len(LINES)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("{", r"metrics\.jsonl:2: is not JSON"),
        ("[1]", r"metrics\.jsonl:2: .*object"),
        ('{"kind": "train", "update": 2}', r"metrics\.jsonl:2: .*stage"),
        ('{"kind": "train", "update": "x"}', r"metrics\.jsonl:2: update: Expected `int`"),
        ('{"kind": "\udcff"}', r"metrics\.jsonl:2: "),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, bad: str, message: str) -> None:
    folder = write(tmp_path / "run", LINES[:1])
    with (folder / "metrics.jsonl").open("ab") as file:
        file.write(bad.encode("utf-8", "surrogateescape") + b"\n")
    with pytest.raises(DataError, match=message):
        read_run(folder)


def test_folders_without_a_log(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has no metrics\.jsonl: it is not a run folder"):
        read_run(tmp_path)
    with pytest.raises(DataError, match="no such file"):
        read_run(tmp_path / "none")
    with pytest.raises(DataError, match="has no complete line yet"):
        read_run(write(tmp_path / "new", [], '{"kind":'))


def test_what_is_not_a_number_is_left_out(tmp_path: Path) -> None:
    odd = [
        line("train", 1, loss=None, note="x", flag=True, parts={"a": 1}),
        line("train", 2, loss=1),
    ]
    run = read_run(write(tmp_path / "run", odd))
    assert run.names() == ["loss"]
    (loss,) = run.curves("loss", "updates")
    assert loss.x.tolist() == [2]


def test_the_log_has_the_name_that_a_run_folder_gives_it() -> None:
    runs = pytest.importorskip("keywright.runs")
    assert curves.METRICS == runs.METRICS


def test_losses_and_scores_come_first_and_repeats_of_the_loss_are_left_out(tmp_path: Path) -> None:
    first = read_run(write(tmp_path / "a", LINES))
    assert default_values([first]) == [
        "loss", "valid.loss", "valid.present.F1@M", "learning_rate", "documents_per_second"
    ]  # fmt: skip
    both = read_run(write(tmp_path / "b", LINES + LATER))
    found = default_values([first, both])
    assert found[3:5] == ["nll", "reward"]  # the loss of a later stage is not its `nll`


def test_selected_values_keep_their_order_and_must_exist(tmp_path: Path) -> None:
    run = read_run(write(tmp_path / "a", LINES))
    assert selected_values([run], ["nll", "loss", "nll"]) == ["nll", "loss"]
    with pytest.raises(UnknownNameError, match=r"did you mean 'valid\.loss'"):
        selected_values([run], ["val.loss"])


def test_smoothing_averages_around_each_point() -> None:
    values = np.array([4.0, 0.0, 2.0, 6.0, 1.0, 5.0])
    assert smoothed(values, 2 / 6) == pytest.approx([2, 2, 8 / 3, 3, 4, 3])
    assert smoothed(values, 0).tolist() == values.tolist()
    assert smoothed(np.full(100, 0.3), 0.1) == pytest.approx(np.full(100, 0.3))
    line = np.arange(50.0)
    assert smoothed(line, 0.1)[5:-5] == pytest.approx(line[5:-5])  # no delay


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["runs/cat_seq"], ["cat_seq"]),
        (["runs/cat_seq-nll", "runs/cat_seq-rl-f1"], ["nll", "rl-f1"]),
        (["runs/cat_seq", "runs/cat_seq-rl"], ["cat_seq", "cat_seq-rl"]),
        (["runs/a-rl-f1", "runs/a-rl-fg", "runs/a-nll"], ["rl-f1", "rl-fg", "nll"]),
        (["seed1/run", "seed2/run"], ["seed1", "seed2"]),
        (["one/a-x", "two/a-x", "two/a-y"], ["one/a-x", "two/a-x", "two/a-y"]),
        (["a/run/metrics.jsonl", "b"], ["run", "b"]),
        (["x/kp20k-0.1", "x/kp20k-0.2"], ["0.1", "0.2"]),
    ],
)
def test_names_are_short_and_tell_runs_apart(paths: list[str], names: list[str]) -> None:
    assert run_names([Path(path) for path in paths]) == names


def test_names_may_be_given() -> None:
    paths = [Path("a"), Path("b")]
    assert run_names(paths, ["x", "y"]) == ["x", "y"]
    with pytest.raises(KeywrightError, match="3 names for 2 runs"):
        run_names(paths, ["x", "y", "z"])
    with pytest.raises(KeywrightError, match="two runs are called 'x'"):
        run_names(paths, ["x", "x"])
    with pytest.raises(KeywrightError, match="two runs are called 'a'"):
        run_names([Path("a"), Path("a")])
