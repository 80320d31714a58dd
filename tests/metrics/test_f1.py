"""Precision, recall and F1 by hand."""

from __future__ import annotations

import pytest

from tests.metrics.made import EMPTY, part, score

# Two hits (ranks 1 and 3) among three predictions; four targets.
ONE = part("a;x;b", "a;b;c;d")
# Seven predictions, hits at ranks 6 and 7; two targets.
LATE = part("r;s;t;u;v;a;b", "a;b")
NO_GOLD = part("a;x", "")
NO_PREDICTION = part("", "a")


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("present.P@1", 1 / 1),
        ("present.P@2", 1 / 2),
        ("present.P@5", 2 / 5),  # divided by 5, though there are 3
        ("present.P@5R", 2 / 5),
        ("present.P@M", 2 / 3),
        ("present.P@O", 2 / 4),  # as many as gold: 4
        ("present.P@OR", 2 / 4),
        ("present.R@1", 1 / 4),
        ("present.R@5", 2 / 4),
        ("present.R@M", 2 / 4),
        ("present.R@O", 2 / 4),
        ("present.F1@1", 2 * (1 * 1 / 4) / (1 + 1 / 4)),  # 2/5
        ("present.F1@5", 2 * (2 / 5 * 1 / 2) / (2 / 5 + 1 / 2)),  # 4/9
        ("present.F1@M", 4 / 7),  # of 2/3 and 1/2
        ("present.F1@O", 1 / 2),
    ],
)
def test_one_document(metric: str, expected: float) -> None:
    assert score(metric, ONE) == pytest.approx(expected, abs=1e-12)
    absent = metric.replace("present", "absent")
    assert score(absent, ONE) == pytest.approx(expected, abs=1e-12), "parts are treated alike"


def test_hits_beyond_the_cutoff_do_not_count() -> None:
    assert score("present.R@5", LATE) == 0
    assert score("present.R@6", LATE) == 1 / 2
    assert score("present.P@10", LATE) == 2 / 10
    assert score("present.P@O", LATE) == 0  # two targets: ranks 1 and 2 count
    assert score("present.P@M", LATE) == 2 / 7


@pytest.mark.parametrize(
    ("divide_by", "at_5", "padded", "at_o", "nothing"),
    [
        ("k", 2 / 5, 2 / 5, 2 / 4, 0),
        ("k_if_any", 2 / 5, 2 / 5, 2 / 4, 0),
        ("predicted", 2 / 3, 2 / 5, 2 / 3, 0),
    ],
)
def test_what_precision_divides_by(
    divide_by: str, at_5: float, padded: float, at_o: float, nothing: float
) -> None:
    assert score("present.P@5", ONE, divide_by=divide_by) == pytest.approx(at_5)
    assert score("present.P@5R", ONE, divide_by=divide_by) == pytest.approx(padded)
    assert score("present.P@O", ONE, divide_by=divide_by) == pytest.approx(at_o)
    assert score("present.P@M", ONE, divide_by=divide_by) == pytest.approx(2 / 3)
    assert score("present.P@5", NO_PREDICTION, divide_by=divide_by) == nothing


def test_recall_divides_by_gold_and_is_0_without_any() -> None:
    assert score("present.R@5", NO_GOLD) == 0
    assert score("present.P@5", NO_GOLD) == 0
    assert score("present.F1@5", NO_GOLD, EMPTY) == 0
    assert score("present.P@O", NO_GOLD) == 0  # as many as gold: none


CORPUS = (
    part("a;b", "a;b"),  # P@5 = 2/5, R = 1
    part("a", "a;b;c;d"),  # P@5 = 1/5, R = 1/4
    part("", ""),  # nothing at all
)


@pytest.mark.parametrize(
    ("rules", "precision", "recall", "f1"),
    [
        # P = (2/5 + 1/5)/3 = 1/5, R = (5/4)/3 = 5/12; F1 = (1/6)/(37/60) = 10/37.
        ({}, 1 / 5, 5 / 12, 10 / 37),
        # Documents' F1: 4/7 and (1/10)/(9/20) = 2/9; their mean over 3 is (50/63)/3.
        ({"f1": "mean_of_documents"}, 1 / 5, 5 / 12, 50 / 189),
        # Two documents have gold: P = 3/10, R = 5/8; F1 = (3/8)/(37/40) = 15/37.
        ({"average_over": "with_targets"}, 3 / 10, 5 / 8, 15 / 37),
        ({"average_over": "with_targets", "f1": "mean_of_documents"}, 3 / 10, 5 / 8, 25 / 63),
        # Divided by the predictions: P = (1 + 1 + 0)/3 = 2/3; F1 = (5/9)/(13/12) = 20/39.
        ({"divide_by": "predicted"}, 2 / 3, 5 / 12, 20 / 39),
    ],
)
def test_macro_averages(rules: dict[str, str], precision: float, recall: float, f1: float) -> None:
    assert score("present.P@5", *CORPUS, **rules) == pytest.approx(precision)
    assert score("present.R@5", *CORPUS, **rules) == pytest.approx(recall)
    assert score("present.F1@5", *CORPUS, **rules) == pytest.approx(f1)


@pytest.mark.parametrize(
    ("divide_by", "precision", "f1"),
    [
        # 3 hits of 6 targets: R = 1/2. The empty document adds 5 or nothing.
        ("k", 3 / 15, 2 / 7),  # 2 * 1/5 * 1/2 / (7/10)
        ("k_if_any", 3 / 10, 3 / 8),  # 3/10 / (8/10)
        ("predicted", 3 / 3, 2 / 3),
    ],
)
def test_micro_averages(divide_by: str, precision: float, f1: float) -> None:
    assert score("present.micro.P@5", *CORPUS, divide_by=divide_by) == pytest.approx(precision)
    assert score("present.micro.R@5", *CORPUS, divide_by=divide_by) == pytest.approx(1 / 2)
    assert score("present.micro.F1@5", *CORPUS, divide_by=divide_by) == pytest.approx(f1)
    assert score("present.micro.P@M", *CORPUS, divide_by=divide_by) == pytest.approx(1)


def test_micro_ignores_how_macro_averages() -> None:
    rules = {"f1": "mean_of_documents", "average_over": "with_targets"}
    assert score("present.micro.F1@5", *CORPUS, **rules) == pytest.approx(3 / 8)


def test_micro_of_nothing_is_0() -> None:
    for measure in ("P", "R", "F1"):
        assert score(f"present.micro.{measure}@5", EMPTY) == 0
