"""Logistic regression that starts from a given model and leaves it only as far as data demand."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keywright.ranking.adapted import Weights

PENALTY = 2.0  # of a squared change of one, in standard deviations of a column
STEPS = 50
ENOUGH = 1e-4  # the largest change of a step, in log-odds, after which nothing is gained

Rows = NDArray[np.float32]
Vector = NDArray[np.float64]


def fit(rows: Rows, correct: NDArray[np.bool_], near: Weights | None = None) -> Weights:
    """Weights for rows [N, F] whose first column is the log-odds of the model to start from.

    With no data the result is that model: its weight is 1 and all others are 0. Newton's method,
    with a penalty on every change except that of the intercept. `near` are weights for similar
    rows, from which the search begins; the solution does not depend on them.
    """
    scale = rows.std(axis=0, dtype=np.float64)
    scale[scale < 1e-6] = np.inf  # a constant column gets no weight
    mean = rows.mean(axis=0, dtype=np.float64)
    standard = np.ones((len(rows), rows.shape[1] + 1), np.float32)
    np.divide(rows - mean.astype(np.float32), scale.astype(np.float32), out=standard[:, :-1])
    prior = np.zeros(standard.shape[1])
    prior[0] = scale[0] if np.isfinite(scale[0]) else 0.0
    prior[-1] = mean[0]
    first = prior if near is None else _standard(near, mean, scale)
    found = _newton(standard, correct.astype(np.float32), prior, first)
    coefficients = found[:-1] / scale
    return Weights([float(value) for value in coefficients], float(found[-1] - coefficients @ mean))


def _standard(weights: Weights, mean: Vector, scale: Vector) -> Vector:
    """Weights of standardised columns."""
    coefficients = np.array(weights.coefficients)
    finite = np.where(np.isfinite(scale), scale, 0.0)
    return np.append(coefficients * finite, weights.intercept + coefficients @ mean)


def _newton(rows: Rows, correct: Rows, prior: Vector, first: Vector) -> Vector:
    penalty = np.full(len(prior), PENALTY)
    penalty[-1] = 1e-6
    weights = first.copy()
    odds, loss = _loss(rows, correct, weights, penalty, prior)
    for _ in range(STEPS):
        chance = 0.5 + 0.5 * np.tanh(0.5 * odds)
        gradient = rows.T @ (chance - correct) + penalty * (weights - prior)
        curvature = (rows * (chance * (1 - chance))[:, None]).T @ rows + np.diag(penalty)
        step = np.linalg.solve(curvature, gradient)
        # Newton's step can be too long far from the solution.
        while True:
            odds, better = _loss(rows, correct, weights - step, penalty, prior)
            if better <= loss:
                break
            step = step / 2
            if np.abs(step).max() < ENOUGH:
                return weights
        weights, loss = weights - step, better
        if np.abs(step).max() < ENOUGH:
            break
    return weights


def _loss(
    rows: Rows, correct: Rows, weights: Vector, penalty: Vector, prior: Vector
) -> tuple[Rows, float]:
    """The log-odds of all rows, and the loss that is minimised."""
    odds = rows @ weights.astype(np.float32)
    away = weights - prior
    each = np.logaddexp(0, odds) - correct * odds
    return odds, float(each.sum(dtype=np.float64) + 0.5 * (penalty * away**2).sum())
