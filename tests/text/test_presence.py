"""Where phrases stand in texts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keywright.text.presence import first_run, padded, places, runs
from keywright.text.stem import stems
from keywright.text.tokenise import normalise

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


def test_an_empty_phrase_stands_nowhere() -> None:
    assert list(runs([], ["a"])) == []
    assert first_run([], []) is None
    assert places("", "some text") == []
    assert places("?!", "some text?!") == []


@given(tokens, tokens)
@anything
def test_runs_equal_brute_force(phrase: list[str], source: list[str]) -> None:
    expected = brute_force(phrase, source)
    assert list(runs(phrase, source)) == expected
    assert first_run(phrase, source) == (expected[0] if expected else None)
    if phrase:
        assert (padded(phrase) in padded(source)) == bool(expected)


def test_places_point_into_the_text() -> None:
    text = "Neural Networks: a neural\nnetwork (and its networks) beats 12 neural-networks."
    found = places("neural network", text)
    assert [text[place.start : place.end] for place in found] == [
        "Neural Networks",
        "neural\nnetwork",
        "neural-networks",
    ]
    assert [(place.token, place.token_end) for place in found] == [(0, 2), (3, 5), (12, 14)]


@given(st.text(st.sampled_from("aAbs -.,1\n²é"), max_size=30), st.text("ab s", max_size=6))
@anything
def test_a_place_holds_the_phrase(text: str, phrase: str) -> None:
    wanted = stems(normalise(phrase))
    found = places(phrase, text)
    assert [place.token for place in found] == brute_force(wanted, stems(normalise(text)))
    for place in found:
        assert stems(normalise(text[place.start : place.end])) == wanted
