"""Pictures of scores and ratings show every item, and the coefficients of the result."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from keywright.analysis import plotting
from keywright.analysis.correlation import Design
from keywright.analysis.judgement import judge
from keywright.analysis.ratings import Item, Rating, Ratings
from keywright.analysis.scatter_plots import draw
from keywright.errors import KeywrightError

pytest.importorskip("matplotlib")

VALUES = [1.0, 2.0, 2.0, 5.0]


def ratings(*systems: str | None) -> Ratings:
    rows = [
        Rating(Item(f"d{place}", system), "ann", value, 2)
        for system in systems
        for place, value in enumerate(VALUES)
    ]
    return Ratings(Path("ratings.csv"), tuple(rows))


def test_dots_lie_where_the_values_are(tmp_path: Path) -> None:
    rated = ratings(None)
    scores = {"all.F1@M": dict(zip(rated.items, (0.1, 0.2, 0.2, 0.5), strict=True))}
    figure = draw(rated.means(), scores, judge(rated, scores, Design(0)))
    (panel,) = figure.axes
    (dots,) = panel.collections
    assert np.asarray(dots.get_offsets()).tolist() == [[0.1, 1], [0.2, 2], [0.5, 5]]
    sizes = np.asarray(dots.get_sizes())  # type: ignore[attr-defined]
    assert sizes[1] > sizes[0] == sizes[2]  # two items
    assert np.asarray(panel.lines[0].get_ydata()) == pytest.approx([1, 5])
    plotting.save(figure, tmp_path / "scatter.svg")
    text = " ".join(ElementTree.parse(tmp_path / "scatter.svg").getroot().itertext())
    for part in ("all.F1@M", "r = 1.00, ρ = 1.00, τ = 1.00", "score", "rating", "least squares"):
        assert part in text


def test_systems_have_a_legend_and_undefined_scores_say_so(tmp_path: Path) -> None:
    rated = ratings("a", "b")
    scores = {
        "x": {item: float(place) for place, item in enumerate(rated.items)},
        "zero": dict.fromkeys(rated.items, 0.0),
    }
    figure = draw(rated.means(), scores, judge(rated, scores, Design(0)))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b"]
    assert figure.axes[1].get_title("right") == "not defined"
    assert len(figure.axes[1].lines) == 0
    colours = {tuple(dots.get_facecolor()[0]) for dots in figure.axes[0].collections}
    assert len(colours) == 2


def test_the_number_of_scores_in_a_picture_is_limited() -> None:
    rated = ratings(None)
    scores = {f"s{n}": dict(zip(rated.items, VALUES, strict=True)) for n in range(25)}
    with pytest.raises(KeywrightError, match="25 scores, and a picture has room for 24"):
        draw(rated.means(), scores, judge(rated, scores, Design(0)))
