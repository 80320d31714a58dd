"""Markup, addresses and hyphens in plain text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keywright.text.markup import original_places, readable


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("H&amp;M&#039;s profit", "H&M's profit"),
        ("&ldquo;cotton&rdquo; &#x41;", "“cotton” A"),
        ("AT&T; R&D; a &b; c", "AT&T; R&D; a &b; c"),
        ("&amp;amp;", "&amp;"),
        ("&notify;", "&notify;"),
        ("<jats:p>CO<sub>2</sub> in <i>E. coli</i></jats:p>", "\n\nCO2 in E. coli\n\n"),
        ('a <a href="x.html" target=_blank>link</a><BR/>end', "a link\n\nend"),
        ("if a < b and c > d: List<String>", "if a < b and c > d: List<String>"),
        ("see https://example.org/a?b=c, or www.example.org", "see . or ."),
        ("ask dana.w@mail.example.org today", "ask . today"),
        ("ground-\nwater and ir- \n rigation", "groundwater and irrigation"),
        ("air-source pumps: air-\nsource", "air-source pumps: air-source"),
        ("Figure A-\nB, x -\ny", "Figure A-\nB, x -\ny"),
        ("ground\u00adwater\u200b", "groundwater"),
        (r"Schr\"odinger and H\'{e}l\`ene", "Schrödinger and Hélène"),
        (r"on $\mathbb{R}^d$ by \citet[p. 2]{a,b} for $5 or $10", "on  by  for $5 or $10"),
        (r"a \emph{new proof} of $k$-means", "a new proof} of $k$-means"),
        ("of $x^2$ alone", "of  alone"),
        (r"C:\temp\new", r"C:\temp\new"),
        ("no markup", "no markup"),
        ("", ""),
    ],
)
def test_people_see(text: str, seen: str) -> None:
    assert readable(text) == seen


PIECES = st.sampled_from(
    ["", "&", "&amp;", "&#39;", "&unknown;", "&#1;", "<p>", "</i>", " a@b.c ", "b-\nc", "\xad"]
)


@given(st.lists(PIECES, max_size=12))
def test_words_between_markup_are_found_again_in_the_original(pieces: list[str]) -> None:
    text = "".join(f"{piece} X{number}Y " for number, piece in enumerate(pieces))
    seen, place = readable(text), original_places(text)
    for number in range(len(pieces)):
        word = f"X{number}Y"
        start, end = place((seen.index(word), seen.index(word) + len(word)))
        assert text[start:end] == word


def test_a_reference_is_marked_as_a_whole() -> None:
    text = "at H&amp;M today"
    start, end = original_places(text)((3, 6))
    assert text[start:end] == "H&amp;M"
