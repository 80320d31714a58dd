"""Errors name the value, its location and a remedy in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from keywright.errors import (
    ConfigError,
    DataError,
    KeywrightError,
    MissingExtraError,
    UnknownNameError,
    nearest,
)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (DataError("is empty"), "is empty"),
        (DataError("is empty", "a.txt"), "a.txt: is empty"),
        (DataError("is empty", Path("b") / "a.txt"), "b/a.txt: is empty"),
        (DataError("is not JSON", "a.jsonl", 3), "a.jsonl:3: is not JSON"),
        (
            UnknownNameError("format", "jsn", ["text", "json"]),
            "unknown format 'jsn'; did you mean 'json'? Known: json, text",
        ),
        (UnknownNameError("format", "?", ["b", "a"]), "unknown format '?'; known: a, b"),
        (
            MissingExtraError("training", "torch", "train"),
            "training needs torch, which is not installed; "
            "install it with: pip install 'keywright[train]'",
        ),
    ],
)
def test_messages(error: KeywrightError, text: str) -> None:
    assert str(error) == text


def test_all_errors_share_a_base_class() -> None:
    """The command line catches that class and no other."""
    for kind in (ConfigError, DataError, MissingExtraError, UnknownNameError):
        assert issubclass(kind, KeywrightError)
    assert not issubclass(KeywrightError, ValueError)


@pytest.mark.parametrize(
    ("name", "suggested"),
    [
        ("F2", "F1"),  # not the longer FG-edit, which shares as many letters
        ("f1", "F1"),
        ("fg_edit", "FG-edit"),
        ("NDGC", "NDCG"),
        ("alphaNDCG", "AlphaNDCG"),
    ],
)
def test_the_nearest_name_is_suggested_ignoring_case(name: str, suggested: str) -> None:
    known = ["AlphaNDCG", "F1", "FG", "FG-edit", "MAP", "NDCG", "P"]
    assert f"did you mean '{suggested}'?" in nearest(name, known)


def test_nothing_is_suggested_if_no_name_is_similar() -> None:
    assert nearest("xyzzy", ["F1", "MAP"]) == "; known: F1, MAP"
