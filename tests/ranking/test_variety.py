from __future__ import annotations

import random
from itertools import pairwise

import pytest

from keywright.ranking.variety import REPETITION, varied

RADIATION = [
    ("radiation",),
    ("radiation", "therapy"),
    ("cancer",),
    ("radiation", "therapy", "risk"),
    ("second", "cancer"),
    ("benefit",),
    ("risk",),
]
ODDS = [0.0, -0.5, -1.0, -1.5, -2.0, -2.4, -2.6]


def test_later_phrases_say_something_new() -> None:
    chosen = varied(RADIATION, ODDS, 4, first=3)
    assert chosen == {0, 1, 2, 5}  # two phrases of the list are part of "radiation therapy risk"


def test_the_first_ones_are_the_most_probable() -> None:
    assert varied(RADIATION, ODDS, 5, first=5) == {0, 1, 2, 3, 4}
    assert varied(RADIATION, ODDS, 3, first=5) == {0, 1, 2}


@pytest.mark.parametrize("count", range(10))
def test_as_many_are_listed_as_there_are(count: int) -> None:
    assert len(varied(RADIATION, ODDS, count, first=2)) == min(count, len(RADIATION))


def test_a_probable_repetition_is_listed_before_an_improbable_phrase() -> None:
    odds = [0.0, -0.1, -0.2 - 2 * REPETITION]
    assert varied([("heat",), ("heat", "pump"), ("moon",)], odds, 2, first=1) == {0, 1}


def test_a_longer_list_contains_every_shorter_one() -> None:
    generator = random.Random(1)
    phrases = list(
        {tuple(generator.choices("abcd", k=generator.randint(1, 4))): None for _ in range(60)}
    )
    odds = sorted((generator.gauss(-2, 1) for _ in phrases), reverse=True)
    lists = [varied(phrases, odds, count) for count in range(len(phrases) + 1)]
    for shorter, longer in pairwise(lists):
        assert shorter < longer
