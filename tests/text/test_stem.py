"""The table of stems: those of nltk's Porter stemmer, each computed once."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer

from keywright.text import stem as module
from keywright.text.stem import StemTable, stem, stems

PORTER = PorterStemmer()


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("networks", "network"),
        ("generation", "gener"),
        ("theory", "theori"),
        ("dying", "die"),  # an irregular form of nltk's extensions
        ("Dying", "die"),
        ("<digit>", "<digit>"),
        ("<unk>", "<unk>"),
        ("<peos>", "<peos>"),
        (",", ","),
        ("", ""),
    ],
)
def test_known_stems(word: str, expected: str) -> None:
    assert stem(word) == expected


@pytest.mark.parametrize("blank", ["\t", "\u00a0", "\u3000"])
def test_white_space_around_a_word_is_ignored(blank: str) -> None:
    """The releases split at " " only and strip each word before stemming it."""
    assert stem(f"networks{blank}") == "network"
    assert stem(blank) == ""


english = st.text(st.sampled_from("aeiouystnrlgdbmcing"), min_size=1, max_size=12)


@given(english | st.text(max_size=20))
@settings(deadline=None, max_examples=500)
def test_equals_nltk(word: str) -> None:
    assert stem(word) == PORTER.stem(word.strip().lower())
    assert stem(word) == stem(word), "a remembered stem is the same stem"


def test_stems_keep_order_and_length() -> None:
    assert stems(["Networks", "of", "networks"]) == ["network", "of", "network"]


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_WORD_TYPES", 10)
    table = StemTable()
    for number in range(95):
        assert table[f"words{number}"] == f"words{number}"
        assert len(table) <= 10
