"""Pictures of learning curves show the values of the log, and say what their marks mean."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from keywright.analysis import plotting
from keywright.analysis.curve_plots import View, draw
from keywright.analysis.curves import RunLog, read_run
from keywright.errors import KeywrightError, MissingExtraError
from tests.analysis.logs import LATER, LINES, line, write

pytest.importorskip("matplotlib")


@pytest.fixture
def run(tmp_path: Path) -> RunLog:
    return read_run(write(tmp_path / "run", LINES + LATER))


def words(path: Path) -> str:
    """All text of an SVG."""
    return " ".join(ElementTree.parse(path).getroot().itertext())


def test_a_panel_per_value_with_the_values_of_the_log(run: RunLog) -> None:
    figure = draw({"a": run}, ["loss", "valid.loss", "reward"], View(smooth=0))
    loss, valid, reward = figure.axes
    assert loss.get_title("left") == "Training loss"
    assert valid.get_title("left") == "Validation loss"
    assert reward.get_title("left") == "Reward"
    assert np.asarray(loss.lines[0].get_ydata()).tolist() == [5, 3, 2]
    assert np.asarray(loss.lines[1].get_ydata()).tolist() == [0.1, -0.1]
    assert np.asarray(reward.lines[0].get_xdata()).tolist() == [40, 50]
    ring = valid.lines[1]
    assert (ring.get_xdata(), ring.get_ydata()) == ([20], [4])  # the best validation


def test_stages_are_marked_by_vertical_lines(run: RunLog) -> None:
    (panel,) = draw({"a": run}, ["reward"]).axes
    assert np.asarray(panel.lines[-1].get_xdata()).tolist() == [30, 30]
    (panel,) = draw({"a": run.only(0)}, ["loss"]).axes
    assert all(np.ptp(np.asarray(drawn.get_xdata(), dtype=float)) for drawn in panel.lines)


def test_legend_and_caption_explain_the_picture(run: RunLog, tmp_path: Path) -> None:
    path = tmp_path / "curves.svg"
    plotting.save(draw({"nll": run, "rl": run}, ["loss", "valid.loss"]), path)
    text = words(path)
    for part in ("nll", "rl", "Training loss", "per target token", "documents seen"):
        assert part in text
    assert "averages over 5% of a stage" in text
    assert "Ring: the best validation" in text
    assert "Dashed vertical line: a new stage begins." in text
    plotting.save(draw({"nll": run.only(0)}, ["loss"], View("minutes", 0)), path)
    assert "minutes of training" in words(path)
    assert "Dashed" not in words(path)
    assert "averages" not in words(path)


def test_noisy_values_are_smoothed_and_kept_faint(tmp_path: Path) -> None:
    values = [line("train", at, loss=float(at % 2), learning_rate=1.0) for at in range(1, 101)]
    run = read_run(write(tmp_path / "noisy", values))
    faint, strong = draw({"a": run}, ["loss"], View(smooth=0.5)).axes[0].lines
    assert np.ptp(np.asarray(faint.get_ydata(), dtype=float)) == 1
    assert np.ptp(np.asarray(strong.get_ydata(), dtype=float)) < 0.1
    assert len(draw({"a": run}, ["learning_rate"], View(smooth=0.5)).axes[0].lines) == 1


def test_a_steep_start_leaves_its_panel_and_is_stated(tmp_path: Path) -> None:
    values = [line("train", at, loss=50 / at + at / 1000) for at in range(1, 201)]
    run = read_run(write(tmp_path / "steep", values))
    (panel,) = draw({"a": run}, ["loss"]).axes
    assert panel.get_ylim()[1] < 10
    assert [text.get_text() for text in panel.texts] == ["starts at 50"]
    assert len(draw({"a": run}, ["loss"]).axes[0].lines[0].get_ydata()) == 200  # nothing dropped


def test_runs_differ_in_colour_then_in_line(run: RunLog) -> None:
    names = [f"run {place}" for place in range(9)]
    (panel,) = draw(dict.fromkeys(names, run.only(0)), ["loss"], View(smooth=0)).axes
    looks = [(drawn.get_color(), drawn.get_linestyle()) for drawn in panel.lines]
    assert len(set(looks)) == 9
    assert looks[7] == (plotting.PALETTE[0], "--")
    with pytest.raises(KeywrightError, match="29 runs, and a plot can tell 28 apart"):
        draw({str(place): run for place in range(29)}, ["loss"])


def test_long_names_keep_their_ends() -> None:
    name = plotting.shortened("transformer_one2seq-" * 4 + "seed2")
    assert len(name) == 40
    assert name.startswith("transformer_o…")
    assert name.endswith("seed2")


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_the_same_values_give_the_same_file(run: RunLog, tmp_path: Path, suffix: str) -> None:
    paths = [tmp_path / f"{name}.{suffix}" for name in "ab"]
    for path in paths:
        plotting.save(draw({"a": run}, ["loss"]), path)
    first, second = (path.read_bytes() for path in paths)
    assert first == second
    assert first.startswith(b"\x89PNG" if suffix == "png" else b"<?xml")


def test_the_example_of_the_guide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "runs" / "cat_seq-small", LINES)
    monkeypatch.chdir(tmp_path)
    guide = Path(__file__).parents[2] / "docs" / "learning-curves.md"
    (example,) = re.findall(r"```python\n(.*?)```", guide.read_text(), re.DOTALL)
    exec(example, {})
    assert capsys.readouterr().out == "30.0 4.0\n"
    assert "Validation loss" in words(tmp_path / "curves.svg")


def test_bad_requests(run: RunLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KeywrightError, match=r"must end in \.svg or \.png"):
        plotting.save(draw({"a": run}, ["loss"]), tmp_path / "curves.pdf")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"keywright\[analysis\]"):
        draw({"a": run}, ["loss"])
