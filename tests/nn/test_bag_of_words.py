"""The bag-of-words constraint, by hand."""

from __future__ import annotations

import math

import pytest
import torch

from keywright.nn.bag_of_words import bag, difference, release_difference, schedule


def test_the_weight_rises_from_zero_to_one_with_the_logarithm() -> None:
    assert schedule(0.0) == 0
    assert schedule(1.0) == pytest.approx(1)
    assert schedule(0.5) == pytest.approx(math.log((math.e - 1) * 0.5 + 1))
    assert schedule(0.5) > 0.5  # faster at the beginning


def test_a_bag_counts_the_words_of_each_document() -> None:
    rows, words = torch.tensor([0, 1, 0, 0]), torch.tensor([2, 0, 2, 1])
    amounts = torch.tensor([1.0, 0.5, 1.0, 0.25])
    assert bag(rows, words, amounts, (2, 3)).tolist() == [[0, 0.25, 2], [0.5, 0, 0]]


def test_equal_bags_have_no_difference() -> None:
    gold = torch.tensor([[2.0, 0.0, 1.0]])
    assert difference(gold, gold, gold).tolist() == [0]


def test_squared_differences_are_divided_by_the_number_of_words_involved() -> None:
    predicted = torch.tensor([[0.5, 1.0, 0.25, 0.0], [0.0, 0.0, 0.0, 0.0]])
    gold = torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    likeliest = torch.tensor([[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    found = difference(predicted, gold, likeliest)
    assert found.tolist() == pytest.approx([(0.25 + 1 + 0.0625) / 2, 0])


def test_the_bag_of_the_release_is_a_softmax_of_logits() -> None:
    # Two words of one document, a vocabulary of three; the first is tagged with the logit 2, the
    # second has the tag O.
    rows, words = torch.tensor([0, 0]), torch.tensor([1, 2])
    logits = torch.tensor([[0.0, 2.0, 1.0], [3.0, 1.0, 0.0]])
    gold = torch.tensor([[1.0, 0.0, 0.0]])
    predicted = torch.tensor([0.0, 2.0, 0.0]).softmax(0)
    expected = ((predicted[0] - 1) ** 2 + predicted[1] ** 2) / 2  # words 0 and 1 are involved
    assert release_difference(rows, words, logits, gold).tolist() == pytest.approx(
        [float(expected)]
    )
