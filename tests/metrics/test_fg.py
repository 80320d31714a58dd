"""The fine-grained score, by hand.

A pair's score is (ED + TF) / 2: ED = 1 - edits / longer length, TF = token F1.
"""

from __future__ import annotations

import pytest

from keywright.metrics import fg
from tests.metrics.made import EMPTY, part, score

VARIANTS = ("FG", "FG-edit", "FG-token", "FG-repetition", "FG-quantity")


def all_variants(predictions: str, targets: str) -> list[float]:
    document = part(predictions, targets)
    return [score(f"present.{name}", document) for name in VARIANTS]


@pytest.mark.parametrize(
    ("prediction", "target", "edit", "precision", "recall", "f1"),
    [
        ("a b", "a b", 1, 1, 1, 1),
        ("a b", "b a", 0, 1, 1, 1),  # both words are substituted
        ("a b", "a c", 1 / 2, 1 / 2, 1 / 2, 1 / 2),
        ("a", "a b", 1 / 2, 1, 1 / 2, 2 / 3),
        ("a b c", "a b", 2 / 3, 2 / 3, 1, 4 / 5),
        ("a a", "a b", 1 / 2, 1 / 2, 1 / 2, 1 / 2),  # multisets: the second a has no partner
        ("a b c d", "d", 1 / 4, 1 / 4, 1, 2 / 5),
    ],
)
def test_pairs(
    prediction: str, target: str, edit: float, precision: float, recall: float, f1: float
) -> None:
    pair = fg.compare(prediction.split(), target.split())
    assert pair == pytest.approx((edit, precision, recall, f1, (edit + f1) / 2))


def test_perfect() -> None:
    assert all_variants("a b;c", "c;a b") == [1] * 5


def test_one_word_short() -> None:
    # "a" against "a b": ED 1/2, TF 2/3, together 7/12; one of each, so no quantity penalty.
    assert all_variants("a", "a b") == pytest.approx([7 / 12, 2 / 3, 1 / 2, 7 / 12, 7 / 12])


def test_nothing_in_common() -> None:
    assert all_variants("x;y", "a;b") == [0] * 5


@pytest.mark.parametrize("name", VARIANTS)
def test_empty_sides(name: str) -> None:
    assert score(f"present.{name}", EMPTY) == 1, "nothing to find, and nothing claimed"
    assert score(f"present.{name}", part("a", "")) == 0
    assert score(f"present.{name}", part("", "a")) == 0


def test_quantity_penalty() -> None:
    # Right, but one of three: (1 - (3 - 1)^2 / 3^2) * 1 = 5/9. Without the penalty 1.
    assert all_variants("a", "a;b;c") == pytest.approx([5 / 9, 5 / 9, 5 / 9, 5 / 9, 1])
    # One right and one not of one: (1 - 1/4) * 1/2.
    assert score("present.FG", part("a;x", "a")) == pytest.approx(3 / 8)
    # Three times too many: (1 - (9 - 3)^2 / 9^2) * 3/9.
    many = part("a;b;c;t;u;v;w;x;y", "a;b;c")
    assert score("present.FG", many) == pytest.approx(45 / 81 * 1 / 3)


def test_on_ties_the_later_phrase_chooses_first() -> None:
    # All three score 1/2 in every way. "r y" takes r, "p y" takes p, and for "p r" nothing is left:
    # (1/2 + 1/2)/3 times 1 - 1/9. Had "p r" come first, it alone would have been accepted.
    expected = [8 / 9 * 1 / 3] * 3 + [8 / 9 * 1 / 2, 1 / 3]
    assert all_variants("p r;p y;r y", "p q;r s") == pytest.approx(expected)
    # In the other order "p r" is the first to choose and leaves nothing to the two.
    assert score("present.FG", part("r y;p y;p r", "p q;r s")) == pytest.approx(8 / 9 * 1 / 6)


def test_what_a_rejected_phrase_used_is_given_back() -> None:
    # "p q" (1) takes p. Of the two at 1/2 the later, "p r", wants p again: rejected, and r is free
    # for "r y". Without giving back, the sum would be 1.
    assert score("present.FG", part("p q;r y;p r", "p q;r s")) == pytest.approx(8 / 9 * 1.5 / 3)


def test_better_phrases_choose_first() -> None:
    # "a x" (1/2) wants the a that "a b" (1) has taken, though "a x" is predicted first.
    assert score("present.FG-quantity", part("a x;a b", "a b;c")) == pytest.approx(1 / 2)


def test_words_may_be_used_as_often_as_all_targets_have_them() -> None:
    # Two targets have an a. "a b" and "a c" are right (1), "a d" is one too many.
    assert score("present.FG-quantity", part("a b;a c;a d", "a b;a c")) == pytest.approx(2 / 3)
    # A word twice in a phrase counts twice: "a a" asks for two, one is there.
    assert score("present.FG-quantity", part("a a", "a b")) == 0
    # Words that no target has are free.
    assert score("present.FG-quantity", part("a x;b x", "a y;b z")) == pytest.approx(1 / 2)


def test_ablations_order_phrases_by_their_own_scores() -> None:
    # Targets "a b", "c". "b a": ED 0, TF 1, both 1/2. "a": ED 1/2, TF 2/3, both 7/12.
    # All parts: "a" first takes the a; "b a" is rejected. Without edit distance "b a" is first.
    # Without token F1 "b a" scores 0. Two of each: no quantity penalty.
    expected = [7 / 24, 1 / 2, 1 / 4, (1 / 2 + 7 / 12) / 2, 7 / 24]
    assert all_variants("b a;a", "a b;c") == pytest.approx(expected)


def test_small_scores_become_0() -> None:
    # Twenty words against one of them: ED 1/20, TF 2 * (1/20) / (21/20) = 2/21; mean below 0.1.
    twenty = "a " + " ".join(f"x{number}" for number in range(19))
    # So only "b" counts: 1/2 of two predictions, two targets.
    assert all_variants(f"{twenty};b", "a;b") == pytest.approx([1 / 2] * 5)


def test_a_score_of_exactly_a_tenth_becomes_0() -> None:
    ten = "a " + " ".join(f"x{number}" for number in range(9))  # ED = 1 - 9/10
    nine = "a " + " ".join(f"x{number}" for number in range(8))  # ED = 1 - 8/9
    assert score("present.FG-token", part(ten, "a")) == 0
    assert score("present.FG-token", part(nine, "a")) == pytest.approx(1 / 9)


def test_a_phrase_below_the_threshold_takes_no_words() -> None:
    # The long phrase scores 0 and must not keep the a from "a x" (1/2): (0 + 1/2)/2.
    twenty = "a " + " ".join(f"x{number}" for number in range(19))
    assert score("present.FG-quantity", part(f"a x;{twenty}", "a b")) == pytest.approx(1 / 4)


def test_corpus_value_is_the_mean_over_all_documents() -> None:
    documents = part("a", "a"), part("x", "a"), EMPTY
    assert score("present.FG", *documents) == pytest.approx((1 + 0 + 1) / 3)
    assert score("present.FG", *documents, average_over="with_targets") == pytest.approx(2 / 3)


def test_token_scores_are_means_over_predictions() -> None:
    # "a" with "a b": P 1, R 1/2, F1 2/3. "x" with anything: 0. The third prediction has no gold.
    documents = part("a;x", "a b"), part("a", ""), EMPTY
    assert score("present.TokenP", *documents) == pytest.approx(1 / 3)
    assert score("present.TokenR", *documents) == pytest.approx((1 / 2) / 3)
    assert score("present.TokenF1", *documents) == pytest.approx((2 / 3) / 3)
    assert score("present.TokenF1", EMPTY) == 0


def test_token_scores_come_from_the_best_target_by_both_parts() -> None:
    # "b a": with "a b" ED 0, TF 1, both 1/2 (P = R = 1); with "b c d" ED 1/3, TF 2/5, both 11/30.
    assert score("present.TokenP", part("b a", "b c d;a b")) == pytest.approx(1)
    # "a b" with "a c" and with "d b": both score 1/2; the first one counts. Either way P = R = 1/2.
    # "a b c" with "a" (ED 1/3, TF 1/2) and "x b y" (ED 1/3, TF 1/3): the first is better.
    assert score("present.TokenR", part("a b c", "x b y;a")) == pytest.approx(1)
    assert score("present.TokenP", part("a b c", "x b y;a")) == pytest.approx(1 / 3)


def test_likenesses_are_one_per_prediction() -> None:
    found = fg.likenesses(["a", "x", "a b"], ["a b"])
    assert [one.tokens for one in found] == [["a"], ["x"], ["a", "b"]]
    assert [one.both for one in found] == pytest.approx([7 / 12, 0, 1])
    assert fg.likenesses(["a"], []) == []


def test_reward_of_nothing_is_a_half() -> None:
    assert fg.reward([], []) == 1 / 2
    assert fg.reward([""], ["", ""]) == 1 / 2, "empty pieces are nothing"
    assert fg.reward(["a"], []) == 0
    assert fg.reward([], ["a"]) == 0


def test_reward_counts_repeated_predictions_as_wrong() -> None:
    # a, <pad>, b against a and b: (1 + 0 + 1)/3 times 1 - 1/9.
    assert fg.reward(["a", "a", "b"], ["a", "b"]) == pytest.approx(8 / 9 * 2 / 3)
    # Repeated targets are one: a, b against a: 1/2 times 1 - 1/4.
    assert fg.reward(["a", "b"], ["a", "a"]) == pytest.approx(3 / 8)
    assert fg.reward(["a", "", "b"], ["a", "b"]) == 1, "an empty piece does not count at all"


def test_reward_form_equals_evaluation_form_where_anything_is_there() -> None:
    for predictions, targets in ((["a b", "c"], ["a"]), (["x"], ["a"]), ([], ["a"])):
        found = fg.likenesses(predictions, targets)
        one = fg.fine_grained(found, targets, len(predictions))
        assert one == fg.fine_grained(found, targets, len(predictions), both_empty=1 / 2)
        assert one == pytest.approx(fg.reward(predictions, targets))
