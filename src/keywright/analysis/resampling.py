"""Sums of per-document rows under resampling and under swapping, as matrix products in chunks.

Every score is a function of column sums (`evaluate.Plan`), so a bootstrap resample is a row of
weights times the rows of the documents, and a permutation is a row of zeros and ones times the
rows' differences.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from keywright.metric import Array

# How many weights are held at once: they fit into the second-level cache.
CELLS = 1 << 19
# From this many documents on, weights are Poisson draws; see `bootstrap_sums`.
LARGE = 4096


class Swapped(NamedTuple):
    """Column sums of two systems after swapping them on some documents, [permutations, columns].

    `exact` says that these are all the ways to swap, once each, and not a sample.
    """

    a: Array
    b: Array
    exact: bool


def bootstrap_sums(rows: Array, resamples: int, seed: int) -> Array:
    """Column sums [resamples, columns] of documents drawn with replacement.

    With many documents, the weight of a document is a Poisson draw of mean 1, the limit of drawing
    with replacement. The number of documents in a resample then varies too, but no score depends
    on it, and the remaining difference shrinks as 1 / documents.
    """
    random = np.random.default_rng(seed)
    draw = _poisson_weights if len(rows) >= LARGE else _multinomial_weights
    sums = np.empty((resamples, rows.shape[1]))
    for chunk in _chunks(resamples, len(rows)):
        sums[chunk] = draw(random, chunk.stop - chunk.start, len(rows)) @ rows
    return sums


def swapped_sums(a: Array, b: Array, permutations: int, seed: int) -> Swapped:
    """Swap the two systems' rows on every document with probability 1/2.

    Documents with equal rows change nothing and are left out. If there are at most
    `permutations` + 1 ways to swap the others, each way is taken once; the first swaps nothing.
    """
    gap = (b - a)[(a != b).any(axis=1)]
    exact = len(gap) <= math.log2(permutations + 1)
    if exact:
        gained = _every_choice(len(gap)) @ gap
    else:
        random = np.random.default_rng(seed)
        gained = np.empty((permutations, gap.shape[1]))
        for chunk in _chunks(permutations, len(gap)):
            gained[chunk] = _coins(random, chunk.stop - chunk.start, len(gap)) @ gap
    return Swapped(a.sum(axis=0) + gained, b.sum(axis=0) - gained, exact)


def _chunks(rows: int, columns: int) -> Iterator[slice]:
    step = max(1, CELLS // max(1, columns))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def _multinomial_weights(random: np.random.Generator, resamples: int, documents: int) -> Array:
    drawn = random.integers(documents, size=(resamples, documents))
    drawn += documents * np.arange(resamples)[:, None]
    counts = np.bincount(drawn.ravel(), minlength=resamples * documents)
    return counts.reshape(resamples, documents).astype(np.float64)


def _poisson_weights(random: np.random.Generator, resamples: int, documents: int) -> Array:
    """How many of the distribution's steps 16 random bits exceed: faster than integer draws."""
    draws = random.integers(0, 1 << 16, size=(resamples, documents), dtype=np.uint16)
    weights = np.zeros(draws.shape, dtype=np.uint8)
    for step in _POISSON_STEPS:
        weights += draws >= step
    return weights.astype(np.float64)


def _poisson_steps() -> list[int]:
    """The shares of draws below 1, 2, ... of a Poisson distribution of mean 1, in 2^-16."""
    below = np.cumsum([math.exp(-1) / math.factorial(weight) for weight in range(12)])
    return [int(share) for share in np.rint(below * (1 << 16)) if share < 1 << 16]


_POISSON_STEPS = _poisson_steps()


def _coins(random: np.random.Generator, permutations: int, documents: int) -> Array:
    """Zeros and ones, eight to a random byte."""
    cells = permutations * documents
    raw = np.frombuffer(random.bytes((cells + 7) // 8), dtype=np.uint8)
    return np.unpackbits(raw, count=cells).reshape(permutations, documents).astype(np.float64)


def _every_choice(documents: int) -> Array:
    """All 2^documents rows of zeros and ones."""
    numbers = np.arange(1 << documents)[:, None]
    return ((numbers >> np.arange(documents)) & 1).astype(np.float64)
