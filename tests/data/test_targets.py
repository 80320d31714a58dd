from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keywright.data.targets import Targets, gold_phrases, split
from keywright.errors import ConfigError
from keywright.lexicon import EOS, NULL, PEOS, SEP, UNK, SpecialIds
from keywright.lexicons.words import Vocabulary
from keywright.types import Document

DOCUMENT = Document(
    title="Deep networks",
    body="We train a deep network on trees.",
    keyphrases=("learning", "tree", "Deep Networks", "a", "deep network", "", "zero"),
)


def ordered(order: str, seed: int = 0) -> list[str]:
    targets = Targets("one2seq", order=order)  # type: ignore[arg-type]
    phrases = targets.phrases(DOCUMENT, np.random.default_rng(seed))
    return [" ".join(phrase.words) for phrase in phrases]


def test_phrases_are_distinct_by_stems_and_not_empty() -> None:
    assert [" ".join(p.words) for p in gold_phrases(DOCUMENT)] == [
        *("learning", "tree", "deep networks", "a", "zero")
    ]


def test_the_default_order_is_present_by_position_and_then_absent_as_given() -> None:
    assert ordered("present_absent") == ["deep networks", "a", "tree", "learning", "zero"]


def test_the_other_orders() -> None:
    assert ordered("absent_present") == ["learning", "zero", "deep networks", "a", "tree"]
    assert ordered("alphabetical") == ["a", "deep networks", "learning", "tree", "zero"]
    assert ordered("length") == ["learning", "tree", "a", "zero", "deep networks"]
    assert ordered("given") == ["learning", "tree", "deep networks", "a", "zero"]


def test_random_order_depends_on_the_generator_only() -> None:
    assert ordered("random", 1) == ordered("random", 1)
    assert len({tuple(ordered("random", seed)) for seed in range(20)}) > 5
    assert sorted(ordered("random", 1)) == ordered("alphabetical")


def test_a_phrase_across_the_border_of_title_and_body_is_not_present() -> None:
    document = Document(title="deep", body="network", keyphrases=("deep network", "network"))
    assert [phrase.position for phrase in gold_phrases(document)] == [None, 1]


def sequences(targets: Targets, *present: str, absent: tuple[str, ...] = ()) -> list[list[int]]:
    vocabulary = Vocabulary(list("abcdef"))
    document = Document(
        title="", body=" ".join(present), keyphrases=(*present, *absent), tokenised=True
    )
    phrases = targets.phrases(document, np.random.default_rng(0))
    return targets.sequences(phrases, vocabulary, ("x",))


def test_each_paradigm_has_its_layout() -> None:
    assert sequences(Targets("one2seq"), "a b", "x") == [[7, 8, SEP, 13, EOS]]
    for paradigm in ("one2one", "one2set"):
        assert sequences(Targets(paradigm), "a b", "y") == [[7, 8, EOS], [UNK, EOS]]  # type: ignore[arg-type]


def test_a_sequence_without_phrases_only_ends() -> None:
    assert sequences(Targets("one2seq")) == [[EOS]]
    assert sequences(Targets("one2set")) == []


def test_absent_phrases_can_be_marked() -> None:
    targets = Targets("one2seq", mark_absent=True)
    assert sequences(targets, "a", "b", absent=("c",)) == [[7, SEP, 8, PEOS, 9, EOS]]
    assert sequences(targets, "a") == [[7, PEOS, EOS]]
    assert sequences(targets, absent=("c",)) == [[PEOS, 9, EOS]]


def test_limits_leave_out_long_and_late_phrases() -> None:
    targets = Targets("one2seq", max_phrase=1, max_phrases=2)
    assert sequences(targets, "a b", "c", "d", "e") == [[9, SEP, 10, EOS]]


@pytest.mark.parametrize(
    "settings",
    [
        {"paradigm": "one2two"},
        {"paradigm": "one2seq", "order": "backwards"},
        {"paradigm": "one2set", "mark_absent": True},
        {"paradigm": "one2seq", "order": "random", "mark_absent": True},
    ],
)
def test_impossible_settings_are_errors(settings: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        Targets(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ids", "spans"),
    [
        ([7, 8, SEP, 9, EOS], [(0, 2), (3, 4)]),
        ([7, PEOS, 8, EOS, 9, SEP], [(0, 1), (2, 3)]),
        ([SEP, SEP, 7, SEP, EOS], [(2, 3)]),
        ([7, SEP, 8, 9], [(0, 1), (2, 4)]),
        ([NULL, EOS], []),
        ([NULL], []),
        ([EOS], []),
        ([], []),
    ],
)
def test_split_finds_the_phrases_of_a_sequence(
    ids: list[int], spans: list[tuple[int, int]]
) -> None:
    assert split(ids, SpecialIds()) == spans


@given(st.lists(st.text("abcdef", min_size=1, max_size=1), min_size=1, max_size=6, unique=True))
def test_split_inverts_sequences(words: list[str]) -> None:
    [ids] = sequences(Targets("one2seq", order="given"), *words)
    vocabulary = Vocabulary(list("abcdef"))
    assert [vocabulary.decode(ids[a:b], ()) for a, b in split(ids, vocabulary.special)] == [
        [word] for word in words
    ]


def test_phrases_are_left_out_after_ordering() -> None:
    targets = Targets("one2seq", max_phrases=2)
    phrases = targets.phrases(DOCUMENT, np.random.default_rng(0))
    assert [" ".join(phrase.words) for phrase in phrases] == ["deep networks", "a"]
