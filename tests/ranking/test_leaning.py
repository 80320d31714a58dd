"""Leaning: what is added to log-odds so that the phrases people prefer come first."""

from __future__ import annotations

import numpy as np
import pytest

from keywright.ranking.blocks import Column
from keywright.ranking.leaning import Leaning

COLUMNS = {
    "length": np.array([1, 2, 3, 5], np.float32),
    "tagged.longer": np.array([-20.0, -2.0, 2.0, 25.0], np.float32),
    "count": np.array([1, 1, 2, 4], np.float32),
}


def test_without_weights_nothing_is_added_and_nothing_is_read() -> None:
    nothing: dict[str, Column] = {}
    assert Leaning()(nothing.__getitem__) == 0.0


def test_longer_phrases_gain_up_to_three_words() -> None:
    assert Leaning(length=2.0)(COLUMNS.__getitem__) == pytest.approx([0.0, 2.0, 3.0, 3.0])


def test_a_phrase_loses_if_the_tagger_prefers_a_longer_one() -> None:
    assert Leaning(longer=0.5)(COLUMNS.__getitem__) == pytest.approx(
        [-4.0, -1.0, 1.0, 4.0]
    )  # at most 8 count


def test_repeated_phrases_gain() -> None:
    assert Leaning(count=1.0)(COLUMNS.__getitem__) == pytest.approx([0, 0, np.log(2), np.log(4)])
