"""The classical test that fits the distribution of the differences."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("scipy", reason="needs the extra 'analysis'")

from keywright.analysis.classical import classical_test


def test_normal_differences_get_the_t_test() -> None:
    random = np.random.default_rng(0)
    a, b = random.normal(0.5, 0.1, (2, 60))
    found = classical_test(a, b)
    assert found.test == "t"
    assert found.normality_test == "shapiro-wilk"
    gap = a - b
    t = gap.mean() / (gap.std(ddof=1) / math.sqrt(60))
    from scipy.stats import t as student

    assert found.p == pytest.approx(2 * student.sf(abs(t), 59))


def test_scores_that_are_mostly_ties_get_wilcoxons_test() -> None:
    a, b = np.zeros((2, 40))
    a[:6] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    found = classical_test(a, b)
    assert found.test == "wilcoxon"
    assert found.normality_p < 0.05
    assert found.documents == 40
    # Six differences, all of one sign, ties left out: 2 of the 2^6 signings are as extreme.
    assert found.p == pytest.approx(2 / 2**6)


def test_many_documents_are_checked_by_another_test_of_normality() -> None:
    random = np.random.default_rng(1)
    found = classical_test(random.random(5001), np.zeros(5001))
    assert found.normality_test == "dagostino-pearson"


def test_equal_scores_need_no_test() -> None:
    found = classical_test(np.ones(5), np.ones(5))
    assert (found.test, found.p) == ("none", 1.0)
