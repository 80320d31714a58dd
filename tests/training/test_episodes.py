"""Which phrases of a generated sequence are rewarded, and where."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from keywright.decoding import phrases
from keywright.decoding.options import Options
from keywright.decoding.phrases import Hypothesis
from keywright.training.episodes import (
    Episode,
    EpisodeReader,
    Payments,
    paid_at_ends,
    paid_by_phrase,
    unsplit_texts,
)
from tests.decoding.fake import EOS, PEOS, SEP, SPECIAL, UNK, VOCABULARY, A, B, C, batch


def read(*tokens: int, marked: bool = True, unknown: str = "drop", **settings: Any) -> Episode:
    hypothesis = Hypothesis(list(tokens), [0.0] * len(tokens), [1] * len(tokens), 0.0)
    options = Options(unknown=unknown)
    found = phrases.spelled(batch("a b c"), 0, VOCABULARY, options, hypothesis)
    return EpisodeReader(PEOS if marked else None, EOS, **settings)(tokens, found)


def returns(episodes: list[Episode], rewards: torch.Tensor, length: int) -> torch.Tensor:
    return paid_at_ends(episodes, rewards).returns(length)


def described(episode: Episode) -> list[tuple[str, list[str], int]]:
    return [(part.name, part.texts, part.paid_at) for part in episode]


def test_the_parts_of_a_sequence_are_paid_where_they_end() -> None:
    assert described(read(A, B, SEP, C, PEOS, C, A, EOS)) == [
        ("present", ["a b", "c"], 4),
        ("absent", ["c a"], 7),
    ]


def test_without_a_mark_all_phrases_are_one_part() -> None:
    assert described(read(A, SEP, B, EOS, marked=False)) == [("all", ["a", "b"], 3)]


@pytest.mark.parametrize(
    ("tokens", "present", "absent"),
    [
        ((PEOS, A, EOS), ([], 0), (["a"], 2)),
        ((A, PEOS, EOS), (["a"], 1), ([], 2)),
        ((PEOS, EOS), ([], 0), ([], 1)),
        ((EOS,), ([], 0), ([], 0)),
        ((A, SEP, B, EOS), (["a", "b"], 3), ([], 3)),  # the present part never ended
        ((A, PEOS, B, PEOS, C, EOS), (["a"], 1), (["b", "c"], 5)),  # only the first one counts
        ((A, PEOS, B, SEP, C), (["a"], 1), (["b"], 4)),  # cut: the last phrase is incomplete
        ((A, A), ([], 1), ([], 1)),
    ],
)
def test_unusual_sequences(tokens, present, absent) -> None:
    assert described(read(*tokens)) == [("present", *present), ("absent", *absent)]


def test_phrases_are_aligned_with_their_tokens_and_their_delimiter() -> None:
    tokens = (A, B, SEP, SEP, C, PEOS, B, C, A, EOS)
    found = [phrase for part in read(*tokens) for phrase in part.phrases]
    spans = [tokens[p.position : p.position + len(p.tokens) + 1] for p in found]
    assert spans == [(A, B, SEP), (C, PEOS), (B, C, A, EOS)]


def test_unknown_words_are_replaced_by_the_source_word_attended_to() -> None:
    assert described(read(A, UNK, EOS, marked=False, unknown="replace")) == [("all", ["a b"], 2)]
    assert described(read(A, UNK, EOS, marked=False, unknown="keep")) == [("all", ["a <unk>"], 2)]
    assert described(read(A, UNK, EOS, marked=False)) == [("all", [], 2)]


def test_a_return_is_the_sum_of_the_rewards_paid_from_there_on() -> None:
    """The sequences `a <sep> b <peos> c <eos>` and `<peos> <eos>`."""
    episodes = [read(A, SEP, B, PEOS, C, EOS), read(PEOS, EOS)]
    rewards = torch.tensor([[0.3, 0.1], [0.5, -0.25]])
    found = returns(episodes, rewards, 6)
    assert found[0].tolist() == pytest.approx([0.4, 0.4, 0.4, 0.4, 0.1, 0.1])
    assert found[1].tolist() == pytest.approx([0.25, -0.25, 0, 0, 0, 0])


def test_rewards_paid_at_the_same_token_are_added() -> None:
    assert returns([read(A, SEP)], torch.tensor([[0.5, 0.25]]), 2).tolist() == [[0.75, 0.75]]


@pytest.mark.parametrize(
    ("tokens", "settings", "present", "absent"),
    [
        ((A, SEP, B, SEP, C, EOS), {"without_mark": "release"}, ([], 5), (["b", "c"], 5)),
        ((EOS,), {"without_mark": "release"}, ([], 0), ([], 0)),
        ((A, PEOS, B, PEOS, C, EOS), {"several_marks": "last"}, (["a"], 3), (["b", "c"], 5)),
        ((A, SEP, B, EOS), {"missing_end": "first"}, (["a", "b"], 0), ([], 3)),
        ((A, PEOS, B, SEP, C), {"missing_end": "first"}, (["a"], 1), (["b"], 0)),
        (
            (A, SEP, B, SEP),
            {"missing_end": "first", "without_mark": "release"},
            ([], 0),
            (["b"], 0),
        ),
    ],
)
def test_unusual_sequences_as_the_release_reads_them(tokens, settings, present, absent) -> None:
    found = read(*tokens, **settings)
    assert described(found) == [("present", *present), ("absent", *absent)]


def test_phrases_are_paid_what_they_add_at_their_delimiters() -> None:
    """`a <sep> b <peos> c <eos>`: a is worth .2, a and b .5, c .1; nothing is worth .05."""
    rewards = [[[0.05, 0.2, 0.5], [0.05, 0.1]]]
    found = paid_by_phrase([read(A, SEP, B, PEOS, C, EOS)], rewards, 2)
    assert found.amounts.tolist() == [[[0.2, pytest.approx(0.3)], [0.1, 0.0]]]
    assert found.paid_at.tolist() == [[[1, 3], [5, 5]]]
    assert found.returns(6)[0].tolist() == pytest.approx([0.6, 0.6, 0.4, 0.4, 0.1, 0.1])


def test_a_part_without_phrases_is_paid_where_it_ends() -> None:
    found = paid_by_phrase([read(A, PEOS, EOS)], [[[0.0, 1.0], [0.5]]], 2)
    assert found.amounts.tolist() == [[[1.0, 0.0], [0.5, 0.0]]]
    assert found.paid_at.tolist() == [[[1, 1], [2, 2]]]
    assert found.returns(3)[0].tolist() == [1.5, 1.5, 0.5]


def test_several_payments_at_one_token_are_added() -> None:
    payments = Payments(torch.tensor([[[1.0, 2.0]]]), torch.tensor([[[0, 0]]]))
    assert payments.returns(2).tolist() == [[3.0, 0.0]]


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ((A, SEP, B, PEOS, C, SEP, A, EOS), ["a", "b <peos> c", "a"]),
        ((PEOS, C, EOS), ["<peos> c"]),
        ((A, PEOS, EOS), ["a <peos>"]),
        ((A, PEOS, SEP, B, EOS), ["a <peos>", "b"]),
        ((A, SEP, B), ["a"]),  # cut
        ((EOS,), []),
    ],
)
def test_unsplit_sequences_take_the_mark_for_a_word(
    tokens: tuple[int, ...], expected: list[str]
) -> None:
    found = [phrase for part in read(*tokens) for phrase in part.phrases]
    assert unsplit_texts(tokens, found, SPECIAL) == expected
