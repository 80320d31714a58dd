"""Numbers of phrases, by hand."""

from __future__ import annotations

import pytest

from keywright.evaluate import Plan
from keywright.matches import Matches
from keywright.metric import Metric
from tests.metrics.made import EMPTY, default_protocol, part, score

CORPUS = (
    part("a;b;c", "a", repeats=1),  # 4 predicted, 3 different
    part("a", "a;b;c;d"),
    part("", ""),
)


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("MAE", (2 + 3 + 0) / 3),
        ("Predicted", (3 + 1 + 0) / 3),
        ("Gold", (1 + 4 + 0) / 3),
        ("Unique", (3 + 1 + 0) / 3),
    ],
)
def test_means(measure: str, expected: float) -> None:
    assert score(f"absent.{measure}", *CORPUS) == pytest.approx(expected)
    assert score(f"absent.{measure}", *CORPUS, average_over="with_targets") == pytest.approx(
        expected
    ), "counts are means over all documents under every protocol"


def test_duplicate_ratio_of_the_corpus_or_of_documents() -> None:
    assert score("all.Dup", *CORPUS, duplicates="corpus") == pytest.approx(1 / 5)
    # Shares 1/4 and 0; the third document has no predictions and is left out.
    assert score("all.Dup", *CORPUS, duplicates="documents") == pytest.approx((1 / 4) / 2)
    assert score("all.Dup", EMPTY) == 0


def test_number_error_of_all_phrases_is_that_of_the_sums() -> None:
    """One phrase too many in one part and one too few in the other cancel out."""
    matches = Matches(part("a;b", "a"), part("", "z"), part("a;b", "a;z;<peos>"))
    plan = Plan(default_protocol(), [Metric.parse(f"{name}.MAE") for name in PARTS])
    scores = plan.scores(plan.rows([matches]).sum(axis=0))
    # Not |3 - 2|: a separator among all the gold belongs to no part.
    assert [float(scores[f"{name}.MAE"]) for name in PARTS] == [1, 1, 0]


PARTS = ("present", "absent", "all")
