"""Character references of HTML in plain text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keywright.text.entities import original_places, without_references


@pytest.mark.parametrize(
    ("text", "readable"),
    [
        ("H&amp;M&#039;s profit", "H&M's profit"),
        ("&ldquo;cotton&rdquo; &#x41;", "“cotton” A"),
        ("AT&T; R&D; a &b; c", "AT&T; R&D; a &b; c"),
        ("&amp;amp;", "&amp;"),
        ("&notify;", "&notify;"),
        ("no reference", "no reference"),
        ("", ""),
    ],
)
def test_references_become_characters(text: str, readable: str) -> None:
    assert without_references(text) == readable


PIECES = st.sampled_from(["a", " ", "&", ";", "&amp;", "&#39;", "&nbsp;", "&unknown;", "&#1;", "B"])


@given(st.lists(PIECES, max_size=12).map("".join), st.data())
def test_a_stretch_is_found_again_in_the_original(text: str, data: st.DataObject) -> None:
    readable = without_references(text)
    start = data.draw(st.integers(0, len(readable)))
    end = data.draw(st.integers(start, len(readable)))
    first, last = original_places(text)((start, end))
    assert 0 <= first <= last <= len(text)
    assert without_references(text[first:last]) == readable[start:end]


def test_a_reference_is_marked_as_a_whole() -> None:
    text = "at H&amp;M today"
    start, end = original_places(text)((3, 6))
    assert text[start:end] == "H&amp;M"
