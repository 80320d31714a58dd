"""Measures of the ranking, by hand."""

from __future__ import annotations

from math import log2

import pytest

from tests.metrics.made import EMPTY, part, score

# Hits at ranks 1, 3 and 6; four targets.
ORDER = part("a;x;b;y;z;c", "a;b;c;d")
# The discounts 1/log2(rank + 1) of ranks 1 to 6.
D1, D2, D3, D4, D5, D6 = (1 / log2(rank + 1) for rank in range(1, 7))


@pytest.mark.parametrize(
    ("cutoff", "expected"),
    [
        ("1", 1 / 4),
        ("5", (1 + 2 / 3) / 4),
        ("M", (1 + 2 / 3 + 3 / 6) / 4),
        ("50", (1 + 2 / 3 + 3 / 6) / 4),
        ("O", (1 + 2 / 3) / 4),  # the first four
    ],
)
def test_average_precision_divides_by_all_targets(cutoff: str, expected: float) -> None:
    assert score(f"present.MAP@{cutoff}", ORDER) == pytest.approx(expected)


def test_map_is_the_mean_over_documents() -> None:
    one, other = part("x;a", "a"), part("a;b", "a;b")  # 1/2 and (1 + 1)/2
    assert score("present.MAP@10", one, other, EMPTY) == pytest.approx((1 / 2 + 1) / 3)
    assert score("present.MAP@10", one, other, EMPTY, average_over="with_targets") == pytest.approx(
        3 / 4
    )


@pytest.mark.parametrize(
    ("cutoff", "expected"),
    [
        # Ideal: the three hits first, cut where the list is cut.
        ("M", (D1 + D3 + D6) / (D1 + D2 + D3)),
        ("5", (D1 + D3) / (D1 + D2 + D3)),  # a hit at rank 6 would have been in time
        ("2", D1 / (D1 + D2)),
        ("1", 1),
        ("O", (D1 + D3) / (D1 + D2 + D3)),
    ],
)
def test_ndcg_against_its_own_hits(cutoff: str, expected: float) -> None:
    assert score(f"present.NDCG@{cutoff}", ORDER, ideal="hits") == pytest.approx(expected)


@pytest.mark.parametrize(
    ("cutoff", "expected"),
    [
        # Ideal: all four targets.
        ("M", (D1 + D3 + D6) / (D1 + D2 + D3 + D4)),
        ("5", (D1 + D3) / (D1 + D2 + D3 + D4)),
        ("2", D1 / (D1 + D2)),  # no more than two could be found
        ("O", (D1 + D3) / (D1 + D2 + D3 + D4)),
    ],
)
def test_ndcg_against_all_targets(cutoff: str, expected: float) -> None:
    assert score(f"present.NDCG@{cutoff}", ORDER, ideal="targets") == pytest.approx(expected)


def test_missed_targets_lower_only_one_of_the_ideals() -> None:
    few = part("a", "a;b;c")
    assert score("present.NDCG@5", few, ideal="hits") == 1
    assert score("present.NDCG@5", few, ideal="targets") == pytest.approx(1 / (D1 + D2 + D3))


@pytest.mark.parametrize("metric", ["MAP@5", "NDCG@5", "AlphaNDCG@5", "MRR", "SADR"])
@pytest.mark.parametrize("alpha", ["substring", "token_sets"])
@pytest.mark.parametrize("document", [part("x;y", "a"), part("", "a"), part("a", ""), EMPTY])
def test_without_hits_the_score_is_0(metric: str, alpha: str, document: object) -> None:
    assert score(f"present.{metric}", document, alpha=alpha) == 0  # type: ignore[arg-type]


def test_alpha_by_substring_halves_repeated_targets() -> None:
    # Targets: "net", "network". The prediction "net" is in both, "network" and "work" in the
    # second only. Gains in order: work 1, net 1 + 1/2, network 1/4.
    document = part("work;net;network", "net;network")
    got = 1 * D1 + 1.5 * D2 + 0.25 * D3
    # Ideal: net 2 comes first; then work and network have 1/2 each, work is earlier, network 1/4.
    ideal = 2 * D1 + 0.5 * D2 + 0.25 * D3
    assert score("present.AlphaNDCG@M", document) == pytest.approx(got / ideal)
    assert score("present.AlphaNDCG@1", document) == pytest.approx(1 / 2)
    assert score("present.AlphaNDCG@2", document) == pytest.approx(
        (D1 + 1.5 * D2) / (2 * D1 + 0.5 * D2)
    )
    assert score("present.AlphaNDCG@O", document) == score("present.AlphaNDCG@2", document)


def test_alpha_counts_ranks_of_irrelevant_predictions() -> None:
    assert score("present.AlphaNDCG@M", part("x;a", "a")) == pytest.approx(D2 / D1)


def test_the_greedy_ideal_of_alpha_can_be_beaten() -> None:
    """So AlphaNDCG may exceed 1, as in the release.

    Each letter is a target; the predictions are relevant to CDEF, DEFG, ABC and BCDG. In this order
    they gain 4, then 3/2 + 1 (D, E, F again), then 2 + 1/2. Greedy takes CDEF (4) and then BCDG
    (2 + 1/2 + 1/2), which is more than DEFG or ABC (5/2 each) and leaves them 7/4.
    """
    predictions = ["cdef", "defg", "abc", "bcdg"]
    targets = [" ".join(word for word in predictions if letter in word) for letter in "abcdefg"]
    document = part(";".join(predictions), ";".join(targets))
    got = 4 * D1 + 2.5 * D2 + 2.5 * D3
    greedy = 4 * D1 + 3 * D2 + 1.75 * D3
    assert got / greedy > 1
    assert score("present.AlphaNDCG@3", document) == pytest.approx(got / greedy)


def test_alpha_by_token_sets() -> None:
    # Four targets; predictions in order: "b a" has the token set of target 1, "a" is contained in
    # it (second time: 1/2), "a b c" contains it (third time: 1/4), "x" matches nothing.
    document = part("b a;a;a b c;x", "a b;d;e;f")
    perfect = D1 + D2 + D3 + D4
    got = D1 + D2 / 2 + D3 / 4
    assert score("present.AlphaNDCG@5", document, alpha="token_sets") == pytest.approx(
        got / perfect
    )
    cut = D1 + D2 / 2
    assert score("present.AlphaNDCG@2", document, alpha="token_sets") == pytest.approx(
        cut / perfect
    ), "the ideal is all targets, however short the list is cut"


def test_alpha_by_token_sets_reads_no_more_predictions_than_targets() -> None:
    late = part("x;y;a", "a;b")
    assert score("present.AlphaNDCG@5", late, alpha="token_sets") == 0


def test_alpha_by_token_sets_takes_the_most_repeated_target() -> None:
    # "a" matches both targets once; "a b" then matches both again: 1/2, not 1/2 + 1/2.
    document = part("a;a b", "a b;a c")
    expected = (D1 + D2 / 2) / (D1 + D2)
    assert score("present.AlphaNDCG@5", document, alpha="token_sets") == pytest.approx(expected)


def test_mrr_is_the_mean_over_hits() -> None:
    assert score("present.MRR", ORDER) == pytest.approx((1 / 1 + 1 / 3 + 1 / 6) / 3)


def test_sadr_discounts_beyond_as_many_as_gold() -> None:
    # Ranks 1 and 3 are within T = 4; rank 6 is 2 beyond: 1/log2(6 - 4 + 2).
    assert score("present.SADR", ORDER) == pytest.approx((1 + 1 + 1 / log2(4)) / 4)
    assert score("present.SADR", part("x;a", "a")) == pytest.approx(1 / log2(3))
