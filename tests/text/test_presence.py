"""Runs of words in sequences of words."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keywright.text.presence import first_run, padded, runs

anything = settings(deadline=None, max_examples=300)
tokens = st.lists(st.sampled_from(["a", "b", "ab", "c"]), max_size=12)


def brute_force(phrase: list[str], source: list[str]) -> list[int]:
    if not phrase:
        return []
    starts = range(len(source) - len(phrase) + 1)
    return [at for at in starts if source[at : at + len(phrase)] == phrase]


@pytest.mark.parametrize(
    ("phrase", "source", "expected"),
    [
        ("a b", "a b a b", [0, 2]),
        ("a a", "a a a", [0, 1]),  # runs may overlap
        ("ab", "a b", []),
        ("a b", "a", []),
        ("b", "a b", [1]),
    ],
)
def test_runs(phrase: str, source: str, expected: list[int]) -> None:
    assert list(runs(phrase.split(), source.split())) == expected


def test_an_empty_phrase_occurs_nowhere() -> None:
    assert list(runs([], ["a"])) == []
    assert first_run([], []) is None


@given(tokens, tokens)
@anything
def test_runs_equal_brute_force(phrase: list[str], source: list[str]) -> None:
    expected = brute_force(phrase, source)
    assert list(runs(phrase, source)) == expected
    assert first_run(phrase, source) == (expected[0] if expected else None)
    if phrase:
        assert (padded(phrase) in padded(source)) == bool(expected)
