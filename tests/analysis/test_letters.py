from __future__ import annotations

import random
from itertools import combinations

import pytest

from keywright.analysis.letters import letters


def test_systems_that_differ_share_no_letter() -> None:
    assert letters("xyz", [("x", "z")]) == {"x": "a", "y": "ab", "z": "b"}
    assert letters("xyz", [("z", "x"), ("x", "y")]) == {"x": "a", "y": "b", "z": "b"}


def test_without_significant_differences_there_is_one_letter() -> None:
    assert letters("xyz", []) == {"x": "a", "y": "a", "z": "a"}
    assert letters((), []) == {}


def test_all_that_differ_have_letters_of_their_own() -> None:
    assert letters("xyz", combinations("xyz", 2)) == {"x": "a", "y": "b", "z": "c"}


@pytest.mark.parametrize("seed", range(30))
def test_sharing_a_letter_says_exactly_which_do_not_differ(seed: int) -> None:
    generator = random.Random(seed)
    names = "abcdefg"
    differ = [pair for pair in combinations(names, 2) if generator.random() < 0.4]
    found = letters(names, differ)
    for pair in combinations(names, 2):
        assert (pair in differ) == set(found[pair[0]]).isdisjoint(found[pair[1]])
    assert all(found.values())


def test_there_are_more_groups_than_letters_of_the_alphabet() -> None:
    names = [f"system {number}" for number in range(30)]
    found = letters(names, combinations(names, 2))
    assert found["system 25"] == "z"
    assert found["system 26"] == "a1"
    assert len(set(found.values())) == 30
