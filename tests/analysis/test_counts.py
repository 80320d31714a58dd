"""Numbers of predicted and gold phrases."""

from __future__ import annotations

import pytest

from keywright.analysis.counts import numbers
from keywright.evaluate import evaluate
from tests.analysis.toy import DOCUMENTS, A, B, panel, plain


def test_numbers_by_hand() -> None:
    found = numbers(panel(a=A), "a")
    # Gold 3, 2, 1; predicted 4, 3, 0.
    assert found.table == ((1, 0, 1), (2, 3, 1), (3, 4, 1))
    assert (found.more, found.equal, found.fewer) == (2, 0, 1)
    assert (found.predicted, found.gold) == (pytest.approx(7 / 3), 2)
    assert found.correlation == pytest.approx(4 / (2 * (52 / 6) ** 0.5 / 2**0.5))


def test_the_error_is_the_metric() -> None:
    for part in ("present", "absent", "all"):
        expected = evaluate(DOCUMENTS, plain(B), metrics=[f"{part}.MAE"]).scores[f"{part}.MAE"]
        assert numbers(panel(b=B), "b", part).mean_absolute_error == pytest.approx(expected)


def test_constant_numbers_have_no_correlation() -> None:
    constant = (("beam search",),) * 3
    assert numbers(panel(a=constant), "a").correlation is None
