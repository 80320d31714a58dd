"""Recalibration curves: they recover known curves, and are never tested on what they have seen."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from keywright.calibration import ece
from keywright.calibration.fit import METHODS, cross_validate, fit, folds
from keywright.calibration.recalibrate import Isotonic, Linear
from keywright.calibration.sample import Features
from keywright.errors import KeywrightError, UnknownNameError
from tests.calibration.toys import drawn, sample


def logistic(z: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-z))


def logit(p: np.ndarray) -> np.ndarray:
    return np.log(p) - np.log1p(-p)


def test_a_known_temperature_is_recovered() -> None:
    found = fit(drawn(20_000, lambda c: logistic(logit(c) / 2.5)), "temperature").present
    assert isinstance(found, Linear)
    assert 1 / found.weights[0] == pytest.approx(2.5, rel=0.05)


def test_a_known_line_is_recovered_by_platt_scaling() -> None:
    found = fit(drawn(20_000, lambda c: logistic(0.6 * logit(c) - 1.2)), "platt").present
    assert isinstance(found, Linear)
    assert found.weights == pytest.approx((-1.2, 0.6), abs=0.06)


def test_a_known_curve_is_recovered_by_beta_calibration() -> None:
    accuracy = drawn(30_000, lambda c: logistic(1.5 * np.log(c) - 0.4 * np.log1p(-c) - 0.3))
    found = fit(accuracy, "beta").present
    assert isinstance(found, Linear)
    assert found.weights == pytest.approx((-0.3, 1.5, 0.4), abs=0.12)


def test_the_maximum_of_the_likelihood_is_that_of_scikit_learn() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    some = drawn(5_000, lambda c: logistic(0.6 * logit(c) - 1.2))
    found = fit(some, "platt").present
    assert isinstance(found, Linear)
    other = linear_model.LogisticRegression(C=np.inf, tol=1e-10).fit(
        logit(some.confidence)[:, None], some.correct
    )
    # Platt's labels, slightly off 0 and 1, make a difference of about 1/5000.
    assert found.weights[1] == pytest.approx(float(other.coef_[0, 0]), rel=0.01)
    assert found.weights[0] == pytest.approx(float(other.intercept_[0]), rel=0.01)


def test_isotonic_regression_agrees_with_scikit_learn() -> None:
    isotonic = pytest.importorskip("sklearn.isotonic")
    some = drawn(500, lambda c: c**2, seed=4)
    rounded = dataclasses.replace(some, confidence=np.round(some.confidence, 2))  # with ties
    found = fit(rounded, "isotonic").present
    assert isinstance(found, Isotonic)
    other = isotonic.IsotonicRegression(out_of_bounds="clip").fit(
        rounded.confidence, rounded.correct
    )
    at = np.linspace(0, 1, 201)
    ours = found(Features(at, at, at, np.ones(201, dtype=bool), at))
    assert ours == pytest.approx(other.predict(at))


@pytest.mark.parametrize("method", METHODS)
def test_recalibrated_confidence_is_calibrated(method: str) -> None:
    """If a method can express the true curve, the remaining error is noise."""
    some = drawn(10_000, lambda c: logistic(logit(c) / 2))
    after = cross_validate(some, method)
    assert ece.ece(some.confidence, some.correct) > 0.08
    assert ece.ece(after, some.correct) < 0.02


def test_logistic_uses_what_confidence_does_not_show() -> None:
    """Correct at the first ranks, wrong later, with equal confidence."""
    some = drawn(4_000, lambda c: np.full(len(c), 0.5))
    rank = np.arange(len(some)) % 5
    correct = np.random.default_rng(99).random(len(some)) < np.where(rank < 2, 0.8, 0.1)
    some = dataclasses.replace(some, rank=rank.astype(float), correct=correct)
    with_rank = ece.auroc(cross_validate(some, "logistic"), correct)
    without = ece.auroc(cross_validate(some, "logistic", ("length", "position")), correct)
    assert with_rank > 0.8
    assert without < 0.6


def test_curves_of_confidence_alone_never_fall() -> None:
    some = drawn(2_000, lambda c: 1 - c)  # higher confidence is worse
    at = np.linspace(0, 1, 50)
    points = Features(at, np.ones(50), at, np.ones(50, dtype=bool), at)
    for method in ("temperature", "platt", "isotonic", "beta"):
        curve = fit(some, method).present
        assert curve is not None
        assert (np.diff(curve(points)) >= -1e-12).all(), method
    free = fit(some, "logistic").present
    assert free is not None
    assert np.diff(free(points)).max() <= 1e-12  # it may, and does


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("right", [True, False])
def test_all_or_none_correct_still_gives_probabilities(method: str, right: bool) -> None:
    some = sample(np.linspace(0, 1, 30), [right] * 30)
    fitted = fit(some, method).present
    assert fitted is not None
    probabilities = fitted(some.features)
    assert np.isfinite(probabilities).all()
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    if method != "temperature":
        assert (np.abs(probabilities - right) < 0.2).all()


def test_equal_confidences_give_their_accuracy() -> None:
    some = sample([0.7] * 100, [True] * 25 + [False] * 75)
    for method in ("platt", "isotonic", "beta", "logistic"):
        curve = fit(some, method).present
        assert curve is not None
        assert curve(some.features) == pytest.approx(np.full(100, 0.25), abs=0.02)


def test_no_document_is_judged_by_a_curve_that_was_fitted_on_it() -> None:
    """Inverting the labels of a fold does not change the probabilities of that fold."""
    some = drawn(300, lambda c: c)
    inside = folds(some.documents)[some.document] == 0
    turned = dataclasses.replace(some, correct=some.correct ^ inside)
    for method in METHODS:
        before, after = cross_validate(some, method), cross_validate(turned, method)
        assert np.array_equal(before[inside], after[inside]), method
        if method != "temperature":
            assert not np.allclose(before[~inside], after[~inside]), method


def test_folds_have_equal_sizes() -> None:
    assert sorted(np.bincount(folds(23, 5)).tolist()) == [4, 4, 5, 5, 5]
    assert len(set(folds(3, 5).tolist())) == 3  # no more folds than documents
    with pytest.raises(KeywrightError, match="at least 2"):
        folds(1)


def test_present_and_absent_phrases_have_separate_curves() -> None:
    present, absent = drawn(2_000, lambda c: 0.8 * c), drawn(2_000, lambda c: 0.1 * c, seed=1)
    both = dataclasses.replace(
        present,
        document=np.concatenate([present.document, absent.document]),
        present=np.repeat([True, False], 2_000),
        **{
            name: np.concatenate([getattr(present, name), getattr(absent, name)])
            for name in ("correct", "confidence", "own", "words", "rank", "position")
        },
    )
    fitted = fit(both, "beta")
    sure = {"confidence": 0.9, "words": 1, "rank": 0}
    assert fitted.probability(Features(**sure, present=True)) == pytest.approx(0.72, abs=0.05)
    assert fitted.probability(Features(**sure, present=False)) == pytest.approx(0.09, abs=0.03)


def test_a_part_without_phrases_has_no_curve_and_no_probability() -> None:
    fitted = fit(sample([0.2, 0.8, 0.5], [False, True, True]), "platt")
    assert fitted.absent is None
    with pytest.raises(KeywrightError, match="without absent phrases"):
        fitted.probability(Features(0.5, 1, 0, present=False))


def test_position_is_not_used_for_absent_phrases() -> None:
    some = drawn(200, lambda c: c)
    fitted = fit(dataclasses.replace(some, present=np.zeros(200, dtype=bool)), "logistic").absent
    assert isinstance(fitted, Linear)
    assert "position" not in fitted.terms
    assert "rank" in fitted.terms


def test_bad_requests() -> None:
    some = drawn(20, lambda c: c)
    with pytest.raises(UnknownNameError, match="did you mean 'isotonic'"):
        fit(some, "isotonik")
    with pytest.raises(UnknownNameError, match="feature"):
        fit(some, "logistic", ("colour",))
    with pytest.raises(KeywrightError, match="no phrase with token probabilities"):
        fit(sample([], []), "beta")


def test_the_recalibrator_remembers_what_it_starts_from() -> None:
    some = drawn(20, lambda c: c)
    assert fit(some, "beta").source == "kpp"
    assert fit(dataclasses.replace(some, source="stated"), "beta").source == "stated"
