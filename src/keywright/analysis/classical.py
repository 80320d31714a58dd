"""The classical tests on paired document scores, chosen by a test of normality.

Papagiannopoulou and Tsoumakas (2019) use the t-test where the differences look normal and
Wilcoxon's signed-rank test where they do not; F scores hardly ever do (Yeh 2000). Both compare
the documents' scores: if the corpus score is not their mean (micro averages, the harmonic mean of
macro P and R), they test something close to it, but not the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from keywright.errors import MissingExtraError
from keywright.metric import Array

LEVEL = 0.05
# Shapiro and Wilk's p-value is not reliable for more differences than this.
MOST_FOR_SHAPIRO = 5000


@dataclass(frozen=True)
class Classical:
    """A two-sided paired test; with `normality_p` below 0.05 it is not the t-test."""

    test: Literal["t", "wilcoxon", "none"]
    p: float
    normality_test: Literal["shapiro-wilk", "dagostino-pearson", "none"]
    normality_p: float
    documents: int


def classical_test(a: Array, b: Array) -> Classical:
    """t-test or Wilcoxon's signed-rank test of two systems' scores on the same documents."""
    stats = _scipy_stats()
    difference = a - b
    if not np.any(difference):
        return Classical("none", 1.0, "none", 1.0, len(difference))
    if len(difference) < 3 or np.ptp(difference) == 0:  # nothing to test for normality
        return Classical("wilcoxon", _wilcoxon(difference), "none", 0.0, len(difference))
    if len(difference) <= MOST_FOR_SHAPIRO:
        normality: Literal["shapiro-wilk", "dagostino-pearson"] = "shapiro-wilk"
        normality_p = float(stats.shapiro(difference).pvalue)
    else:
        normality = "dagostino-pearson"
        normality_p = float(stats.normaltest(difference).pvalue)
    if normality_p < LEVEL:
        p = _wilcoxon(difference)
        return Classical("wilcoxon", p, normality, normality_p, len(difference))
    p = float(stats.ttest_1samp(difference, 0.0).pvalue)
    return Classical("t", p, normality, normality_p, len(difference))


def _wilcoxon(difference: Array) -> float:
    """Equal scores are left out, as Wilcoxon did; then few differences get an exact p-value."""
    return float(_scipy_stats().wilcoxon(difference[difference != 0]).pvalue)


def _scipy_stats() -> Any:
    try:
        from scipy import stats
    except ImportError:
        raise MissingExtraError("the t-test and Wilcoxon's test", "scipy", "analysis") from None
    return stats
