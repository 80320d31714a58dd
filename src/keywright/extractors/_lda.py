"""Latent Dirichlet allocation (Blei et al. 2003) by batch variational Bayes.

The equations are those of Hoffman, Blei and Bach (2010), section 2: documents are bags of numbered
words; `weights` [topics, words] are the parameters of the topics' Dirichlet distributions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keywright.errors import MissingExtraError

Array = NDArray[np.float64]

MOST_ROUNDS = 100  # for one document
TOLERANCE = 1e-3  # mean change of a document's topics


class Bag(NamedTuple):
    """The different words of a document and how often each occurs."""

    words: NDArray[np.int64]
    counts: Array


def fit(bags: Sequence[Bag], words: int, topics: int, rounds: int, seed: int) -> Array:
    """The weights of the topics, [topics, words]; both priors are 1 / topics, as is usual."""
    weights = np.random.default_rng(seed).gamma(100.0, 0.01, (topics, words))
    for _ in range(rounds):
        expected = exp_expectation(weights)
        found = np.zeros_like(weights)
        for bag in bags:
            if not len(bag.words):
                continue
            beta = expected[:, bag.words]
            theta = np.exp(_log_expectation(posterior(bag, beta)))
            # Bags have no word twice, so that this adds to every column once.
            found[:, bag.words] += np.outer(theta, bag.counts / (theta @ beta + 1e-100))
        weights = 1 / topics + found * expected
    return weights


def posterior(bag: Bag, beta: Array) -> Array:
    """The parameters of a document's topics [topics], where `beta` [topics, words of the bag] is
    what `exp_expectation` gives for its words (equation 5 of the paper)."""
    topics = len(beta)
    gamma = np.ones(topics)
    for _ in range(MOST_ROUNDS):
        theta = np.exp(_log_expectation(gamma))
        before = gamma
        gamma = 1 / topics + theta * (beta @ (bag.counts / (theta @ beta + 1e-100)))
        if np.abs(gamma - before).mean() < TOLERANCE:
            break
    return gamma


def exp_expectation(weights: Array) -> Array:
    """exp E[log p] of every row's Dirichlet distribution."""
    found: Array = np.exp(_log_expectation(weights))
    return found


def _log_expectation(weights: Array) -> Array:
    try:
        from scipy.special import psi
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "scipy":
            raise
        raise MissingExtraError("topicalpagerank", "scipy", "extractors") from None
    found: Array = psi(weights) - psi(weights.sum(-1, keepdims=True))
    return found
