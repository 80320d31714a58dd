"""The phrases that samples of a model agree on: the set whose mean F1 against them is largest.

For a set S of k phrases and a sample Y, F1 = 2 |S and Y| / (k + |Y|). Its mean over the samples is
a sum over the phrases p of S,

    w_k(p) = mean over Y of 2 [p in Y] / (k + |Y|)

so that the best set of k phrases has those with the largest w_k, and trying every k finds the best
set of all exactly (Dembczynski et al. 2011, "An exact algorithm for F-measure maximization").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from typing import TypeVar

import numpy as np

Phrase = TypeVar("Phrase", bound=Hashable)
ROUNDING = 1e-12


def shares(samples: Sequence[Collection[Phrase]]) -> dict[Phrase, float]:
    """The share of samples that contain each phrase, largest first; of equal ones the first met."""
    counts = Counter(phrase for sample in samples for phrase in dict.fromkeys(sample))
    return {phrase: count / len(samples) for phrase, count in counts.most_common()}


def best_set(
    samples: Sequence[Collection[Phrase]], candidates: Sequence[Phrase]
) -> frozenset[Phrase]:
    """The candidates whose mean F1 against the samples is largest as a set.

    Of equally good sets it is the smallest one; of equal phrases the first candidates are taken.
    """
    if not candidates:
        return frozenset()
    place = {phrase: i for i, phrase in enumerate(candidates)}
    distinct = [set(sample) for sample in samples]
    # [P, L] the number of samples of each size that contain each candidate
    counts = np.zeros((len(candidates), max(map(len, distinct)) + 1))
    for sample in distinct:
        counts[[place[phrase] for phrase in sample if phrase in place], len(sample)] += 1
    sizes = np.arange(1, len(candidates) + 1)
    # [P, K] the sum over samples, w_k for every k at once
    weights = counts @ (2 / (sizes + np.arange(counts.shape[1])[:, None]))
    order = np.argsort(-weights, axis=0, kind="stable")
    totals = np.take_along_axis(weights, order, axis=0).cumsum(axis=0).diagonal()
    # Sums of the same terms in another order differ by rounding.
    size = int(np.flatnonzero(totals >= totals.max() * (1 - ROUNDING))[0]) + 1
    return frozenset(candidates[i] for i in order[:size, size - 1])
