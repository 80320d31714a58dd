"""Rewards of small documents, by hand, and the values that the papers and their releases give."""

from __future__ import annotations

import math
from typing import Any

import pytest

from keywright import protocols, reward
from keywright.config import Part
from keywright.errors import ConfigError
from keywright.reward import PlainContext, Reward
from keywright.types import Document
from tests.rewards.made import document, make, score

TORCH_FREE = ("f1", "recall", "fg")


@pytest.mark.parametrize(
    ("predictions", "gold", "f1", "plain"),
    [
        ("a", "a;b", 1 / 2, 2 / 3),  # fewer predictions than gold: recall
        ("a;b;c;d", "a;b", 2 / 3, 2 / 3),  # P 1/2, R 1
        ("a;b", "a;b", 1, 1),
        ("a;a", "a;b", 1 / 2, 1 / 2),  # the repeat is a wrong guess: P 1/2, R 1/2
        ("a;a;b", "a;b", 4 / 5, 4 / 5),  # P 2/3, R 1
        ("x", "a", 0, 0),
        ("", "a", 0, 0),
        ("a", "", 0, 0),
        ("", "", 0, 0),
        ("a", "a;a;b", 1 / 2, 2 / 3),  # repeated gold counts once
        ("walked;walking", "walk", 2 / 3, 2 / 3),  # compared by stems: the second is a repeat
    ],
)
def test_f1(predictions: str, gold: str, f1: float, plain: float) -> None:
    assert score("f1", predictions, gold) == pytest.approx(f1)
    assert score("f1", predictions, gold, adaptive=False) == pytest.approx(plain)


@pytest.mark.parametrize(
    ("predictions", "gold", "expected"),
    [("a;x;y;z", "a;b", 1 / 2), ("a;a", "a;b", 1 / 2), ("b;a", "a;b", 1), ("", "a", 0)],
)
def test_recall(predictions: str, gold: str, expected: float) -> None:
    assert score("recall", predictions, gold) == pytest.approx(expected)


def test_a_repeat_of_a_correct_phrase_lowers_the_reward() -> None:
    for name in ("f1", "fg"):
        assert score(name, "a;a;b", "a;b") < score(name, "a;b", "a;b")


# Luo et al. (2021), figure 2. The paper prints .333 for the first system; its formula gives .342.
FIGURE_2 = (
    "propositional satisfiability;linear arithmetic logic;satisfiability module theory;"
    "integrated decision procedures"
)
SYSTEMS = (
    (
        "propositional satisfiability;linear regression;partition mathematical reasoning;"
        "propositional satisfiability experiment",
        41 / 120,
    ),
    (
        "propositional satisfiability;linear arithmetic regression;"
        "boolean representation reasoning;multiple decision trees",
        0.500,
    ),
    (
        "propositional satisfiability;linear arithmetic logic;mathematical reasoning;"
        "multiple decision procedures",
        0.667,
    ),
    (
        "propositional satisfiability;linear arithmetic logic;integrated decision process;"
        "satisfiability problem",
        0.758,
    ),
)


@pytest.mark.parametrize(("predictions", "printed"), SYSTEMS)
@pytest.mark.parametrize("give_back", [True, False])
def test_fg_of_figure_2(predictions: str, printed: float, give_back: bool) -> None:
    found = score("fg", predictions, FIGURE_2, give_back=give_back)
    assert found == pytest.approx(printed, abs=5e-4)


def test_words_of_a_rejected_phrase_are_given_back_in_the_release_only() -> None:
    # "a b" 1, "a c" 7/12, "c x y" 5/12. The a is used up by "a b", so "a c" is rejected; its c is
    # free again for "c x y" in the release. Three predictions, two targets: times 8/9.
    predictions, gold = "a b;a c;c x y", "a b;c"
    assert score("fg", predictions, gold) == pytest.approx((1 + 5 / 12) / 3 * 8 / 9)
    assert score("fg", predictions, gold) == pytest.approx(0.4198, abs=5e-5)
    printed = score("fg", predictions, gold, give_back=False)
    assert printed == pytest.approx(0.2963, abs=5e-5)


@pytest.mark.parametrize(
    ("predictions", "gold", "expected"), [("", "", 0.5), ("a", "", 0), ("", "a", 0), ("a", "a", 1)]
)
def test_fg_of_nothing(predictions: str, gold: str, expected: float) -> None:
    assert score("fg", predictions, gold) == expected


def test_fg_counts_repeated_predictions_as_wrong_and_repeated_gold_once() -> None:
    # a, a repeat, b against a and b: (1 + 0 + 1)/3 times 1 - 1/9.
    assert score("fg", "a;a;b", "a;b") == pytest.approx(8 / 9 * 2 / 3)
    assert score("fg", "a;b", "a;a") == pytest.approx(3 / 8)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        # Gold "a b", "c". "b a": ED 0, TF 1, both 1/2. "a": ED 1/2, TF 2/3, both 7/12.
        ({}, 7 / 24),  # "a" is first and takes the a; "b a" is rejected
        ({"edit": False}, 1 / 2),  # "b a" is first
        ({"token": False}, 1 / 4),  # "b a" scores 0
        ({"repetition": False}, (1 / 2 + 7 / 12) / 2),
        ({"edit": False, "repetition": False}, (1 + 2 / 3) / 2),
    ],
)
def test_each_part_of_fg_can_be_switched_off(settings: dict[str, Any], expected: float) -> None:
    assert score("fg", "b a;a", "a b;c", **settings) == pytest.approx(expected)


def test_the_quantity_penalty_can_be_switched_off() -> None:
    assert score("fg", "a", "a;b") == pytest.approx(3 / 4)
    assert score("fg", "a", "a;b", quantity=False) == 1


def test_small_scores_are_nothing_in_the_release() -> None:
    long = "a " + " ".join(f"x{number}" for number in range(19))  # ED 1/20, TF 2/21
    assert score("fg", long, "a") == 0
    assert score("fg", long, "a", smallest=0.0) == pytest.approx((1 / 20 + 2 / 21) / 2)


def test_fg_without_any_similarity_is_refused() -> None:
    with pytest.raises(ConfigError, match="keep one of them"):
        make("fg", edit=False, token=False)


@pytest.mark.parametrize("name", TORCH_FREE)
def test_a_part_is_compared_with_its_own_gold(name: str) -> None:
    one = document("heat pump;insulation", text="a heat pump warms a house")
    found = make(name)
    # The caller decides which part a prediction belongs to: before <peos> it is present.
    assert found([one], [["heat pumps"]], "present") == [1]
    assert found([one], [["heat pumps"]], "absent") == [0]
    assert found([one], [["insulation"]], "absent") == [1]
    assert found([one], [["insulation"]], "present") == [0]
    assert found([one], [["insulation", "heat pump"]], "all") == [1]


@pytest.mark.parametrize("name", TORCH_FREE)
def test_a_batch_scores_as_its_documents_do_alone(name: str) -> None:
    rows = [
        (document("a b;c", "c d"), ["a b", "a", "a", "x y"]),
        (document("", "c d"), ["a"]),
        (document("a", "a"), []),
        (document("a b;c", "c d"), ["c", "b a"]),
        # The same phrases under a text that is not tokenised: punctuation is split off.
        (Document(title="", body="A, b", keyphrases=("A,b",)), ["A,b", "C."]),
    ]
    documents, phrases = [one for one, _ in rows], [texts for _, texts in rows]
    together = make(name)
    for part in ("present", "absent", "all"):
        alone = [make(name)([one], [texts], part)[0] for one, texts in rows]
        assert together(documents, phrases, part) == alone
        assert together(documents, phrases, part) == alone, "and again from what is remembered"


@pytest.mark.parametrize("protocol", protocols.names())
@pytest.mark.parametrize("name", TORCH_FREE)
def test_every_protocol_can_be_rewarded(name: str, protocol: str) -> None:
    found = make(name, protocol)
    assert found([document("a b;c", "c d")], [["c"]], "present") == [1]
    assert found([document("a b;c", "c d")], [["a b"]], "absent") == [1]


def test_a_phrase_that_evaluation_would_drop_still_counts() -> None:
    assert score("f1", "a;<unk> b", "a") == pytest.approx(2 / 3)


def test_thousands_of_phrases_are_read() -> None:
    many = [f"x{number}" for number in range(3000)]
    assert make("recall")([document("x2999")], [many], "absent") == [1]


class _Wrong:
    def __init__(self, scores: list[float]):
        self.scores = scores

    def __call__(self, *given: object) -> list[float]:
        return self.scores


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([1.0], "gives 1 scores for 2 documents"),
        ([1.0, math.nan], "gives nan for the phrases"),
        ([math.inf, 0.0], "gives inf for the phrases"),
    ],
)
def test_a_reward_that_gives_no_numbers_is_refused_before_training(
    monkeypatch: pytest.MonkeyPatch, scores: list[float], message: str
) -> None:
    from keywright.rewards import recall

    monkeypatch.setattr(recall, "build", lambda config, context: _Wrong(scores))
    with pytest.raises(ConfigError, match=rf"stage\.reward: {message}"):
        make("recall")


def test_unknown_rewards_and_settings_are_errors_with_their_place() -> None:
    context = PlainContext(protocols.load("chan19"))
    with pytest.raises(ConfigError, match=r"stage\.reward\.name: unknown reward 'f2'"):
        reward.build(Part("f2"), context, "stage.reward")
    with pytest.raises(ConfigError, match=r"stage\.reward\.adaptve: unknown setting"):
        reward.build(Part("f1", {"adaptve": True}), context, "stage.reward")


def test_a_reward_satisfies_the_contract() -> None:
    typed: Reward = make("f1")
    assert typed([], [], "all") == []
