"""Repeated phrases, first words and words."""

from __future__ import annotations

import pytest

from keywright.analysis.diversity import diversity
from keywright.types import Prediction, ScoredPhrase


def said(*texts: str) -> Prediction:
    return Prediction(phrases=tuple(ScoredPhrase(text=text) for text in texts))


def test_diversity_by_hand() -> None:
    found = diversity(
        [
            said("test cases", "test case", "tests", "beam search"),
            said("neural networks", "!"),
        ]
    )
    # Document 1: 4 phrases, 3 different (test case, test, beam search), first words test and beam;
    # 5 words, of which test is used twice. Document 2: one phrase; a mark is not a phrase.
    assert found.documents == 2
    assert found.phrases == 5 / 2
    assert found.unique == 4 / 2
    assert found.first_words == 3 / 2
    assert found.repeated == pytest.approx(1 / 5)
    assert found.repeated_first_words == pytest.approx(1 / 4)
    assert found.repeated_words == pytest.approx(1 / 7)


def test_without_predictions_everything_is_0() -> None:
    found = diversity([said()])
    assert (found.phrases, found.repeated, found.repeated_first_words) == (0, 0, 0)
