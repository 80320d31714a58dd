"""Plots show the numbers, and are files that a browser can open."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from keywright.analysis import calibration_plots
from keywright.calibration.calibrate import Calibration, calibrate
from keywright.errors import DataError, MissingExtraError, UnknownNameError
from keywright.types import ScoredPhrase
from tests.calibration.toys import document, phrase, prediction

pytest.importorskip("matplotlib")


def calibrated(probabilities: bool = True, absent: bool = True) -> Calibration:
    made = [phrase("beam search", 0.9, 0.9), phrase("outputs", 0.25)]
    made += [phrase("decoding", 0.45)] if absent else []
    if not probabilities:
        made = [ScoredPhrase(text=phrase.text) for phrase in made]
    text = document("beam search keeps the best partial outputs", "beam search", "decoding")
    return calibrate([(text, prediction(*made))] * 3, resamples=10)


def words(path: Path) -> str:
    """All text of an SVG."""
    return " ".join(ElementTree.parse(path).getroot().itertext())


def test_every_figure_is_drawn_from_the_values(tmp_path: Path) -> None:
    found = calibrated()
    paths = calibration_plots.save(calibration_plots.draw(found, "beam.jsonl"), tmp_path)
    assert {path.name for path in paths} == {
        "reliability.svg", "perplexity.svg", "tokens.svg", "sections.svg"
    }  # fmt: skip
    reliability = words(tmp_path / "reliability.svg")
    error = found["present"].scores["ECE"]
    assert error is not None
    assert f"present: ECE {100 * error:.1f} points" in reliability
    assert "perfect calibration" in reliability
    assert "beam.jsonl" in reliability
    assert "median 2.56" in words(tmp_path / "perplexity.svg")  # (1/0.9 + 4) / 2
    assert "3 of 3" in words(tmp_path / "sections.svg")
    assert "conditional probability" in words(tmp_path / "tokens.svg")


def test_bar_heights_are_accuracies() -> None:
    figure = calibration_plots.reliability({"present": calibrated()["present"]})
    accuracy, counts = figure.axes
    heights = {round(bar.get_x(), 1): bar.get_height() for bar in accuracy.patches}
    assert heights == {0.2: 0.0, 0.9: 1.0}
    assert sorted(bar.get_height() for bar in counts.patches)[-2:] == [3, 3]


def test_the_same_values_give_the_same_file(tmp_path: Path) -> None:
    for name in ("a", "b"):
        calibration_plots.save(calibration_plots.draw(calibrated()), tmp_path / name)
    first, second = ((tmp_path / name / "reliability.svg").read_bytes() for name in ("a", "b"))
    assert first == second
    assert not re.search(rb"<dc:date>", first)


def test_png_is_png(tmp_path: Path) -> None:
    (path, *_) = calibration_plots.save(calibration_plots.draw(calibrated()), tmp_path, "png")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_missing_values_are_not_drawn() -> None:
    assert set(calibration_plots.draw(calibrated(probabilities=False))) == {"sections"}
    stated = ScoredPhrase(text="chart", confidence=0.5)
    found = calibrate([(document("a chart", "chart"), prediction(stated))] * 2, resamples=0)
    assert set(calibration_plots.draw(found)) == {"sections", "reliability"}
    figures = calibration_plots.draw(calibrated(absent=False))
    assert len(figures["reliability"].axes) == 2  # present only: accuracy and counts


def test_bad_requests(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="plot format"):
        calibration_plots.save({}, tmp_path, "bmp")
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="folder cannot be created"):
        calibration_plots.save({}, tmp_path / "file" / "plots")


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    found = calibrated()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"keywright\[analysis\]"):
        calibration_plots.draw(found)
