"""Fit recalibration curves, and test them by cross-validation over documents.

Temperature scaling (Guo et al. 2017), Platt scaling (1999), isotonic regression (Zadrozny and Elkan
2002), beta calibration (Kull et al. 2017), and a logistic regression that adds a phrase's length,
rank and position, and their squares, to beta calibration's terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from keywright.calibration.ece import Flags, Indices
from keywright.calibration.recalibrate import Curve, Isotonic, Linear, Recalibrator, Term, term
from keywright.calibration.sample import Features, Sample
from keywright.errors import KeywrightError, UnknownNameError
from keywright.metric import Array

METHODS = ("temperature", "platt", "isotonic", "beta", "logistic")
FEATURES: dict[str, tuple[Term, ...]] = {
    "length": ("length", "length_squared"),
    "rank": ("rank", "rank_squared"),
    "position": ("position", "position_squared"),
}
FOLDS = 5
NOTHING_TO_FIT = "there is no phrase with token probabilities or a confidence to fit a curve on"
_TERMS: dict[str, tuple[Term, ...]] = {
    "temperature": ("logit",),
    "platt": ("bias", "logit"),
    "beta": ("bias", "log_confidence", "log_doubt"),
    "logistic": ("bias", "log_confidence", "log_doubt"),
}
# Methods that use confidence alone must not reverse its order. Beside other features, a higher
# confidence may mean a lower probability: some models are most confident late in a list.
_RISING = ("temperature", "platt", "beta")
# A normal prior keeps the weights of features other than confidence small (0 ± 0.6 per standard
# deviation of a term). Without it, the few correct absent phrases of a small corpus are overfitted.
# Cross-validated errors hardly change for values between 1 and 10.
_PRIOR = 3.0
_MOST_STEPS = 100
_SMALL_ENOUGH = 1e-10


def fit(
    sample: Sample,
    method: str = "logistic",
    features: Sequence[str] = tuple(FEATURES),
) -> Recalibrator:
    """Fit a recalibrator on predictions whose gold is known; evaluate it on other documents.

    `features` are those besides confidence; only `logistic` uses them.
    """
    curve = _fitter(method, features)
    if not len(sample):
        raise KeywrightError(NOTHING_TO_FIT)
    return Recalibrator(
        method=method,
        present=_part(sample, sample.present, curve),
        absent=_part(sample, ~sample.present, curve),
        source=sample.source,
        protocol=sample.protocol,
        length=sample.length,
        corpus=sample.corpus,
        documents=sample.documents,
        phrases=len(sample),
    )


Fitter = Callable[[Features, Flags, bool], Curve]


def _fitter(method: str, features: Sequence[str]) -> Fitter:
    if method not in METHODS:
        raise UnknownNameError("recalibration method", method, METHODS)
    for name in features:
        if name not in FEATURES:
            raise UnknownNameError("feature of a phrase", name, FEATURES)

    def curve(given: Features, correct: Flags, present: bool) -> Curve:
        if method == "isotonic":
            return _isotonic(given, correct)
        terms = _TERMS[method]
        if method == "logistic":
            # An absent phrase has no position.
            used = [name for name in features if present or name != "position"]
            terms += tuple(term for name in used for term in FEATURES[name])
        return _linear(terms, given, correct, rising=method in _RISING)

    return curve


def _part(sample: Sample, chosen: Flags, curve: Fitter) -> Curve | None:
    if not chosen.any():
        return None
    present = bool(sample.present[chosen][0])
    return curve(sample.features.take(chosen), sample.correct[chosen], present)


def _linear(terms: tuple[Term, ...], given: Features, correct: Flags, rising: bool) -> Linear:
    """Maximum likelihood; a curve that must rise with confidence loses terms that make it fall."""
    columns = np.stack([term(name, given) for name in terms], axis=1)
    confidence_terms = _TERMS["logistic"] + _TERMS["temperature"]
    extra = np.array([name not in confidence_terms for name in terms])
    weights = _logistic(columns, _targets(correct), _PRIOR * extra * columns.var(axis=0))
    falling = [name for name, w in zip(terms, weights, strict=True) if name != "bias" and w < 0]
    if rising and falling:
        rest = tuple(name for name in terms if name != falling[0])
        if rest:
            return _linear(rest, given, correct, rising)
        weights = np.zeros(1)  # an infinite temperature: 1/2 everywhere
    limits = (columns.min(axis=0), columns.max(axis=0))
    return Linear(terms, *(tuple(column.tolist()) for column in (weights, *limits)))


def _targets(correct: Flags) -> Array:
    """Platt's (1999) labels: slightly off 0 and 1, as if one more phrase of each kind were seen.

    The likelihood then has a maximum even if every phrase is correct, or none.
    """
    right = int(correct.sum())
    wrong = len(correct) - right
    return np.where(correct, (right + 1) / (right + 2), 1 / (wrong + 2))


def _logistic(columns: Array, targets: Array, prior: Array) -> Array:
    """The most probable weights by Newton's method; a step is halved until the loss decreases."""

    def loss(weights: Array) -> float:
        return _cross_entropy(columns @ weights, targets) + 0.5 * float((prior * weights**2).sum())

    weights = np.zeros(columns.shape[1])
    before = loss(weights)
    for _ in range(_MOST_STEPS):
        probability = 0.5 + 0.5 * np.tanh(0.5 * (columns @ weights))
        slope = columns.T @ (targets - probability) - prior * weights
        curvature = (columns.T * (probability * (1 - probability))) @ columns + np.diag(prior)
        # Least squares, because columns are identical if all confidences are equal.
        step = np.linalg.lstsq(curvature, slope, rcond=None)[0]
        while (after := loss(weights + step)) > before:
            step /= 2
            if np.abs(step).max() < _SMALL_ENOUGH:
                return weights
        weights = weights + step
        if before - after <= _SMALL_ENOUGH * abs(after):
            break
        before = after
    return weights


def _cross_entropy(logits: Array, targets: Array) -> float:
    """-target log p - (1 - target) log(1 - p) = log(1 + exp(z)) - target z."""
    return float((np.logaddexp(0.0, logits) - targets * logits).sum())


def _isotonic(given: Features, correct: Flags) -> Isotonic:
    """Pool adjacent violators: neighbours whose accuracy falls are merged until none does."""
    confidence = np.asarray(given.confidence, dtype=np.float64)
    values, group = np.unique(confidence, return_inverse=True)
    right, count = np.bincount(group, weights=correct), np.bincount(group)
    blocks: list[tuple[float, float, float, float]] = []  # lowest, highest, right, all
    for value, hits, size in zip(values.tolist(), right.tolist(), count.tolist(), strict=True):
        block = (value, value, hits, float(size))
        while blocks and blocks[-1][2] * block[3] >= block[2] * blocks[-1][3]:
            low, _, more_hits, more = blocks.pop()
            block = (low, block[1], block[2] + more_hits, block[3] + more)
        blocks.append(block)
    return Isotonic(
        tuple(end for low, high, _, _ in blocks for end in ((low, high) if low < high else (low,))),
        tuple(hits / size for low, high, hits, size in blocks for _ in range(1 + (low < high))),
    )


def folds(documents: int, count: int = FOLDS, seed: int = 0) -> Indices:
    """The fold of each document: folds of equal size, drawn at random."""
    if documents < 2:
        raise KeywrightError(
            "cross-validation fits on some documents and tests on others, so it needs at least 2"
        )
    order = np.random.default_rng(seed).permutation(documents)
    return np.argsort(order) % min(count, documents)


def cross_validate(
    sample: Sample,
    method: str = "logistic",
    features: Sequence[str] = tuple(FEATURES),
    count: int = FOLDS,
    seed: int = 0,
) -> Array:
    """Each phrase's probability under curves fitted on other documents.

    NaN where those documents have no phrase of its part.
    """
    curve = _fitter(method, features)
    fold = folds(sample.documents, count, seed)[sample.document]
    found = np.full(len(sample), np.nan)
    for part in (sample.present, ~sample.present):
        for train, test in _splits(fold, part):
            if test.any() and (fitted := _part(sample, train, curve)) is not None:
                found[test] = fitted(sample.features.take(test))
    return found


def _splits(fold: Indices, part: Flags) -> Iterable[tuple[Flags, Flags]]:
    for number in np.unique(fold):
        yield part & (fold != number), part & (fold == number)
