"""Resampled and swapped sums equal those of drawn and swapped documents."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from keywright.analysis import resampling
from keywright.analysis.resampling import LARGE, bootstrap_sums, swapped_sums

RANDOM = np.random.default_rng(7)


def test_a_resample_has_as_many_documents_as_the_corpus() -> None:
    rows = np.column_stack([np.ones(50), RANDOM.random(50)])
    assert (bootstrap_sums(rows, 300, seed=1)[:, 0] == 50).all()


@pytest.mark.parametrize("documents", [100, LARGE + 1])
def test_resampled_means_vary_as_expected_in_theory(documents: int) -> None:
    """Mean and standard error of a mean, for both ways to draw weights."""
    values = RANDOM.random(documents)
    sums = bootstrap_sums(np.column_stack([values, np.ones(documents)]), 4000, seed=2)
    means = sums[:, 0] / sums[:, 1]
    error = values.std() / np.sqrt(documents)
    assert means.mean() == pytest.approx(values.mean(), abs=5 * error / np.sqrt(4000))
    assert means.std() == pytest.approx(error, rel=0.05)


def test_poisson_weights_are_poisson() -> None:
    weights = resampling._poisson_weights(np.random.default_rng(3), 100, LARGE)
    shares = np.bincount(weights.astype(int).ravel(), minlength=5)[:5] / weights.size
    expected = np.exp(-1) / np.array([1, 1, 2, 6, 24])
    assert np.abs(shares - expected).max() < 0.003


def test_few_documents_are_swapped_in_every_way_once() -> None:
    a, b = RANDOM.integers(0, 9, (2, 5, 3)).astype(float)
    swapped = swapped_sums(a, b, permutations=31, seed=0)
    assert swapped.exact
    expected = sorted(
        tuple(sum(b[i] if swap else a[i] for i, swap in enumerate(swaps)))
        for swaps in product((False, True), repeat=5)
    )
    assert sorted(map(tuple, swapped.a)) == expected
    assert np.allclose(swapped.a + swapped.b, (a + b).sum(axis=0))


def test_documents_with_equal_rows_do_not_count_as_ways_to_swap() -> None:
    a = RANDOM.random((1000, 2))
    b = a.copy()
    b[:3] += 1
    swapped = swapped_sums(a, b, permutations=100, seed=0)
    assert swapped.exact
    assert len(swapped.a) == 8


def test_many_documents_are_swapped_at_random_and_both_systems_keep_their_total() -> None:
    a, b = RANDOM.random((2, 200, 2))
    swapped = swapped_sums(a, b, permutations=3000, seed=4)
    assert not swapped.exact
    assert np.allclose(swapped.a + swapped.b, (a + b).sum(axis=0))
    # A fair coin on every document: the mean is the middle, the variance that of signed halves.
    gap = b - a
    assert swapped.a.mean(axis=0) == pytest.approx((a + b).sum(axis=0) / 2, abs=0.5)
    assert swapped.a.var(axis=0) == pytest.approx((gap**2).sum(axis=0) / 4, rel=0.1)


def test_chunks_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = RANDOM.random((2, 64, 2))
    whole = bootstrap_sums(a, 100, 5), swapped_sums(a, b, 100, 5)
    monkeypatch.setattr(resampling, "CELLS", 64 * 8)  # bytes stay whole, so the coins agree too
    pieces = bootstrap_sums(a, 100, 5), swapped_sums(a, b, 100, 5)
    assert np.allclose(whole[0], pieces[0])
    assert np.allclose(whole[1].a, pieces[1].a)
