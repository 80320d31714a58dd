"""The fine-grained score, by hand.

A pair's score is (ED + TF) / 2: ED = 1 - edits / longer length, TF = token F1.
"""

from __future__ import annotations

import pytest

from keywright.metrics import fg
from tests.metrics.made import EMPTY, part, score

VARIANTS = ("FG", "FG-edit", "FG-token", "FG-repetition", "FG-quantity")


def all_variants(predictions: str, targets: str) -> list[float]:
    document = part(predictions, targets)
    return [score(f"present.{name}", document) for name in VARIANTS]


@pytest.mark.parametrize(
    ("prediction", "target", "edit", "precision", "recall", "f1"),
    [
        ("a b", "a b", 1, 1, 1, 1),
        ("a b", "b a", 0, 1, 1, 1),  # both words are substituted
        ("a b", "a c", 1 / 2, 1 / 2, 1 / 2, 1 / 2),
        ("a", "a b", 1 / 2, 1, 1 / 2, 2 / 3),
        ("a b c", "a b", 2 / 3, 2 / 3, 1, 4 / 5),
        ("a a", "a b", 1 / 2, 1 / 2, 1 / 2, 1 / 2),  # multisets: the second a has no partner
        ("a b c d", "d", 1 / 4, 1 / 4, 1, 2 / 5),
    ],
)
def test_pairs(
    prediction: str, target: str, edit: float, precision: float, recall: float, f1: float
) -> None:
    pair = fg.compare(prediction.split(), target.split())
    assert pair == pytest.approx((edit, precision, recall, f1, (edit + f1) / 2))


def test_perfect() -> None:
    assert all_variants("a b;c", "c;a b") == [1] * 5


def test_one_word_short() -> None:
    # "a" against "a b": ED 1/2, TF 2/3, together 7/12; one of each, so no quantity penalty.
    assert all_variants("a", "a b") == pytest.approx([7 / 12, 2 / 3, 1 / 2, 7 / 12, 7 / 12])


def test_nothing_in_common() -> None:
    assert all_variants("x;y", "a;b") == [0] * 5


@pytest.mark.parametrize("name", VARIANTS)
def test_empty_sides(name: str) -> None:
    assert score(f"present.{name}", EMPTY) == 1, "nothing to find, and nothing claimed"
    assert score(f"present.{name}", part("a", "")) == 0
    assert score(f"present.{name}", part("", "a")) == 0


def test_quantity_penalty() -> None:
    # Right, but one of three: (1 - (3 - 1)^2 / 3^2) * 1 = 5/9. Without the penalty 1.
    assert all_variants("a", "a;b;c") == pytest.approx([5 / 9, 5 / 9, 5 / 9, 5 / 9, 1])
    # One right and one not of one: (1 - 1/4) * 1/2.
    assert score("present.FG", part("a;x", "a")) == pytest.approx(3 / 8)
    # Three times too many: (1 - (9 - 3)^2 / 9^2) * 3/9.
    many = part("a;b;c;t;u;v;w;x;y", "a;b;c")
    assert score("present.FG", many) == pytest.approx(45 / 81 * 1 / 3)


def test_on_ties_the_first_target_is_the_best() -> None:
    """One target shares more words, the other has them in place; together both are 1/4."""
    shares, in_place = "c a c d", "d c c d"
    for targets, precision in (([shares, in_place], 1 / 2), ([in_place, shares], 1 / 4)):
        (chosen,) = fg.likenesses(["d b b a"], targets)
        assert (chosen.both, chosen.best.precision) == (1 / 4, precision)
