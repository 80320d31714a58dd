"""fg: chan19's matching, FG's numbers."""

from __future__ import annotations

import pytest

from tests.protocols.scoring import SOURCE, phrases, score


def test_present_phrases_are_filtered_as_in_chan19() -> None:
    # <unk> goes, the repeat goes, "x" is absent: present a b and d against a b c.
    case = (SOURCE, "a b c;z", "a b;x;<unk> d;d;d")
    assert phrases("fg", case)["present"] == phrases("chan19", case)["present"]
    # "a b" with "a b c": ED 2/3, TF 4/5, both 11/15; "d" 0. One target, two predictions: 1 - 1/4.
    assert score("fg", "present.FG", case) == pytest.approx(3 / 4 * (11 / 15) / 2)
    assert score("fg", "present.FG", case) == score("chan19", "present.FG", case)
    assert score("fg", "present.TokenP", case) == pytest.approx(1 / 2)
    assert score("fg", "present.TokenR", case) == pytest.approx((2 / 3) / 2)


def test_an_empty_line_is_an_absent_phrase() -> None:
    case = (SOURCE, "z", "")
    assert score("fg", "present.FG", case) == 1
    assert score("fg", "absent.Predicted", case) == 1
    assert score("fg:release=one2set", "absent.Predicted", case) == 0


def test_without_gold_the_absent_part_has_the_empty_phrase() -> None:
    case = (SOURCE, "", "")
    assert score("fg", "absent.FG", case) == 1, "the empty line is read as the empty phrase"
    assert score("fg:release=one2set", "absent.FG", case) == 0
    assert score("fg", "present.FG", case) == 1
