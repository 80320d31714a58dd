"""Keyphrase perplexity: the paper's equations and its worked example."""

from __future__ import annotations

import math

import numpy as np
import pytest

from keywright.calibration.perplexity import confidence, histogram, kpp
from keywright.errors import KeywrightError
from keywright.types import ScoredPhrase
from tests.calibration.toys import phrase


def test_the_papers_worked_example() -> None:
    """Equations 4 to 8: "geothermal" as one word, as two subwords, and normalised by words."""
    word, subwords = [math.log(0.5)], [math.log(0.625), math.log(0.8)]
    assert kpp(word) == pytest.approx(2.0)  # eq. 4
    assert math.exp(sum(subwords)) == pytest.approx(0.5)  # eq. 5
    assert kpp(subwords) == pytest.approx(math.sqrt(2.0))  # eq. 6: 1.41
    assert kpp(subwords, words=1) == pytest.approx(2.0)  # eq. 7 gives eq. 8


def test_confidence_is_the_geometric_mean_over_words() -> None:
    two_words = phrase("geothermal energy", 0.625, 0.8, 0.9)
    assert confidence(two_words) == pytest.approx((0.625 * 0.8 * 0.9) ** (1 / 2))
    assert confidence(two_words, "tokens") == pytest.approx((0.625 * 0.8 * 0.9) ** (1 / 3))


def test_without_a_number_of_words_every_token_is_a_word() -> None:
    logs = (math.log(0.5), math.log(0.5))
    assert confidence(ScoredPhrase(text="a b", token_log_probs=logs)) == pytest.approx(0.5)


def test_unknown_probabilities_give_no_confidence() -> None:
    assert confidence(ScoredPhrase(text="a")) is None
    assert confidence(ScoredPhrase(text="", token_log_probs=())) is None


def test_an_impossible_token_makes_perplexity_infinite() -> None:
    impossible = phrase("a b", 0.9, 0.0)
    assert confidence(impossible) == 0.0
    assert kpp(impossible.token_log_probs or ()) == math.inf
    assert kpp([-1000.0]) == math.inf  # and so does a nearly impossible one


def test_rounding_slightly_above_one_is_allowed() -> None:
    assert confidence(ScoredPhrase(text="a", token_log_probs=(1e-7,))) == 1.0
    for bad in (0.1, math.nan):
        with pytest.raises(KeywrightError, match="'a' has a token log-probability"):
            confidence(ScoredPhrase(text="a", token_log_probs=(-1.0, bad)))


def test_histogram_counts_every_phrase_once() -> None:
    found = histogram(np.array([1.0, 0.5, 0.5, 0.2, 0.1, 0.0]), most=5.0, bins=4)
    assert found.edges == (1.0, 2.0, 3.0, 4.0, 5.0)
    assert found.counts == (1, 2, 0, 1)  # perplexity 1 | 2, 2 | | 5 (the last edge is inside)
    assert found.above == 2  # 10 and infinity
    assert found.median == pytest.approx(3.5)


def test_histogram_of_nothing() -> None:
    found = histogram(np.array([]))
    assert sum(found.counts) == found.above == 0
    assert found.median is None
