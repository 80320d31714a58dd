"""The distribution of FG and token F1 (Luo et al. 2021, figure 3)."""

from __future__ import annotations

import pytest

from keywright.analysis.distribution import distribution, fine_grained, token_f1
from keywright.evaluate import evaluate
from tests.analysis.toy import DOCUMENTS, A, B, panel, plain


def test_an_edge_belongs_to_the_bin_above_and_1_to_the_last_bin() -> None:
    found = distribution([0.0, 0.19, 0.2, 0.6, 0.99, 1.0], "s", "present", "FG")
    assert found.counts == (2, 1, 0, 1, 2)
    assert found.perfect == 1
    assert sum(found.shares) == pytest.approx(1)


def test_nothing_has_no_shares() -> None:
    found = distribution([], "s", "present", "FG")
    assert (found.total, found.mean, found.shares) == (0, 0.0, (0.0,) * 5)


def test_token_f1_of_phrases_by_hand() -> None:
    # Present phrases of a: 3 hits; greedy algorithm and language model share nothing with gold.
    found = token_f1(panel(a=A), "a")
    assert found.counts == (2, 0, 0, 0, 3)
    assert found.perfect == 3
    # d3 has no absent gold; b's absent phrases are graph theory and chromatic numbers, both wrong.
    assert token_f1(panel(b=B), "b", "absent").counts == (2, 0, 0, 0, 0)


def test_the_means_are_the_values_of_the_metrics() -> None:
    scores = evaluate(DOCUMENTS, plain(A), metrics=["present.FG", "present.TokenF1"]).scores
    both = panel(a=A)
    # Every document has present gold, so none is left out.
    assert fine_grained(both, "a").mean == pytest.approx(scores["present.FG"])
    assert token_f1(both, "a").mean == pytest.approx(scores["present.TokenF1"])


def test_a_document_with_nothing_on_either_side_is_left_out() -> None:
    # d3 has no absent gold, and a predicts nothing there; `absent.FG` would count it as perfect.
    found = fine_grained(panel(a=A), "a", "absent")
    assert found.total == 2
    assert found.perfect == 1  # decoding strategy
