"""Tables 5 and 6 of the reproducibility study have the numbers of `evaluate`."""

from __future__ import annotations

import pytest

from keywright.analysis.averages import cutoffs, macro_and_micro
from keywright.evaluate import evaluate
from tests.analysis.toy import DOCUMENTS, A, B, panel, plain


def test_macro_and_micro_averages_by_hand() -> None:
    found = {
        (averages.system, averages.part): averages for averages in macro_and_micro(panel(a=A, b=B))
    }
    present = found["a", "present"]
    # Macro P (2/3 + 1/2 + 0) / 3, macro R (1 + 1 + 0) / 3; micro: 3 hits, 5 predicted, 4 gold.
    p, r = (2 / 3 + 1 / 2) / 3, 2 / 3
    assert present.macro == pytest.approx(2 * p * r / (p + r))
    assert present.micro == pytest.approx(2 * 3 / (5 + 4))
    assert present.difference == present.macro - present.micro
    assert len(found) == 4


def test_cutoffs_are_those_of_evaluate() -> None:
    scores = evaluate(DOCUMENTS, plain(B)).scores
    for average, infix in (("macro", ""), ("micro", "micro.")):
        for row in cutoffs(panel(a=A, b=B), average=average):
            if row.system == "b":
                assert row.f1 == pytest.approx(
                    {cut: scores[f"{row.part}.{infix}F1@{cut}"] for cut in ("M", "5", "O")}
                )
