"""Words of a text: normalised as the field prepares them, and where they are in the text."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from keywright.text.tokenise import (
    DIGIT,
    document_words,
    looks_tokenised,
    normalise,
    spans,
    words,
)
from keywright.types import Document

anything = settings(deadline=None, max_examples=300)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("BERT-2 wins.", ["bert", DIGIT, "wins", "."]),
        ("client/server", ["client", "server"]),
        ("C++ and C#, R&D*", ["c++", "and", "c#", ",", "r&d*"]),
        ("the k-means' (fast) 95%", ["the", "k", "means", "'", "(", "fast", ")", "<digit>", "%"]),
        ("a_b", ["a", "_", "b"]),
        ("3.14", [DIGIT, ".", DIGIT]),
        ("x86 and mp3", ["x86", "and", "mp3"]),  # a number is a whole word of digits
        ("٣٤ wins", [DIGIT, "wins"]),  # digits of every script are digits
        ("10²", ["10²"]),  # a superscript is not
        ("Über Straße, ΣΟΦΙΑ", ["über", "straße", ",", "σοφια"]),
        ("深層学習", ["深層学習"]),
        ("a <digit> <unk> <peos> b", ["a", "<digit>", "<unk>", "<peos>", "b"]),
        ("a<b>c", ["a", "<", "b", ">", "c"]),
        ("", []),
        (" \n\t", []),
    ],
)
def test_normalise(text: str, expected: list[str]) -> None:
    assert normalise(text) == expected


@given(st.text())
@example("İstanbul'da 3²<unk>_x")
@anything
def test_spans_are_the_normalised_words_at_their_places(text: str) -> None:
    """Whatever is found in the normalised words can be pointed at in the text."""
    last = 0
    for (start, end), word in zip(spans(text), normalise(text), strict=True):
        assert last <= start < end
        assert word == (DIGIT if text[start:end].isdecimal() else text[start:end].lower())
        last = end


@given(st.text())
@anything
def test_spans_of_a_tokenised_text_are_its_words_between_blanks(text: str) -> None:
    assert [text[start:end] for start, end in spans(text, tokenised=True)] == text.split()


# The lower case of "İ" is "i" and a combining dot, which is not a letter. No other word is like it.
lasting_words = st.text().filter(lambda text: "İ" not in text)


@given(lasting_words)
@anything
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalise(text)
    assert normalise(" ".join(once)) == once


@given(st.text())
@anything
def test_normalised_words_can_be_joined_by_blanks(text: str) -> None:
    once = normalise(text)
    assert " ".join(once).split() == once


@pytest.mark.parametrize(
    "text",
    [
        "a survey of graph theory . we show that , in general , trees win .",
        "networks with <digit> layers",
        "methods , i.e. those of section <digit>",  # abbreviations keep their dots
        "tags of DIGIT questions",  # how the StackExchange corpus writes <digit>
    ],
)
def test_prepared_text_looks_tokenised(text: str) -> None:
    assert looks_tokenised(text)


@pytest.mark.parametrize(
    "text",
    [
        "A survey of graph theory",
        "a survey of graph theory. we show that trees win.",
        "a survey (of graphs)",
        "Graph theory , prepared but not lower case .",
    ],
)
def test_raw_text_does_not_look_tokenised(text: str) -> None:
    assert not looks_tokenised(text)


def test_tokenised_words_are_never_segmented_again() -> None:
    assert words("state-of-the-art c++ 3.5", tokenised=True) == ["state-of-the-art", "c++", "3.5"]
    assert words("state-of-the-art", tokenised=False) == ["state", "of", "the", "art"]
    document = Document(title="A b-c", body="d 1", tokenised=True)
    assert document_words(document) == (["A", "b-c"], ["d", "1"])
