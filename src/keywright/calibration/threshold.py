"""Which threshold gives a wanted precision, and what recall does it leave?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keywright.calibration import bootstrap
from keywright.calibration.bootstrap import Interval
from keywright.calibration.ece import Flags
from keywright.calibration.fit import FOLDS, folds
from keywright.calibration.sample import Sample
from keywright.errors import KeywrightError
from keywright.metric import Array

# The precision of fewer phrases is a matter of chance.
LEAST = 10


@dataclass(frozen=True)
class Threshold:
    """A threshold, and the quality of the phrases at or above it.

    `threshold` is the lowest one that reaches the wanted precision on all documents, None if there
    is none; `highest` is the highest precision that any threshold reaches. `precision`, `recall`
    and `kept` are held out: each document is judged by a threshold found without it. They are micro
    averages over all phrases kept and all gold phrases; `recall_without` is the recall without a
    threshold.
    """

    part: str
    wanted: float
    threshold: float | None
    highest: float | None
    kept: int
    precision: float | None
    recall: float | None
    recall_without: float | None
    intervals: dict[str, Interval]


def threshold_for(
    sample: Sample,
    probability: Array,
    part: str,
    precision: float,
    *,
    count: int = FOLDS,
    resamples: int = 1000,
    seed: int = 0,
) -> Threshold:
    """The threshold on `probability` that gives the wanted precision for a part's phrases."""
    if not 0 < precision <= 1:
        raise KeywrightError(
            f"the wanted precision is {precision}, but it must be greater than 0 and at most 1"
        )
    mask = sample.mask(part) & ~np.isnan(probability)
    score, correct, document = probability[mask], sample.correct[mask], sample.document[mask]
    fold = folds(sample.documents, count, seed)[document]
    threshold, highest = _search(score, correct, precision)
    kept = np.zeros(len(score), dtype=bool)
    for number in np.unique(fold) if threshold is not None else ():
        inside = fold == number
        without, _ = _search(score[~inside], correct[~inside], precision)
        if without is not None:
            kept |= inside & (score >= without)
    counts = [
        np.bincount(document, weights=column, minlength=sample.documents)
        for column in (kept & correct, kept, correct)
    ]
    rows = np.stack([*counts, sample.targets(part)], axis=1)  # [documents, 4]
    held_out = _ratios(rows.sum(axis=0))
    return Threshold(
        part=part,
        wanted=precision,
        threshold=threshold,
        highest=highest,
        kept=int(kept.sum()),
        **{name: None if np.isnan(value) else float(value) for name, value in held_out.items()},
        intervals=_intervals(rows, resamples, seed),
    )


def _search(score: Array, correct: Flags, precision: float) -> tuple[float | None, float | None]:
    """The lowest threshold that reaches the precision, and the highest precision of any."""
    order = np.argsort(-score, kind="stable")
    score, correct = score[order], correct[order]
    kept = np.arange(1, len(score) + 1)
    reached = np.cumsum(correct) / kept
    # Phrases of equal score are kept or dropped together.
    possible = (kept >= LEAST) & np.append(score[1:] < score[:-1], True)[: len(score)]
    enough = np.flatnonzero(possible & (reached >= precision))
    return (
        float(score[enough[-1]]) if len(enough) else None,
        float(reached[possible].max()) if possible.any() else None,
    )


def _ratios(sums: Array) -> dict[str, Array]:
    """Precision, recall and recall without a threshold of [..., 4]; NaN for 0 / 0."""
    kept_right, kept, right, gold = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            "precision": np.where(kept > 0, kept_right / kept, np.nan),
            "recall": np.where(gold > 0, kept_right / gold, np.nan),
            "recall_without": np.where(gold > 0, right / gold, np.nan),
        }


def _intervals(rows: Array, resamples: int, seed: int) -> dict[str, Interval]:
    draws = [_ratios(weights @ rows) for weights in bootstrap.weights(len(rows), resamples, seed)]
    found = {}
    for name in draws[0] if draws else ():
        limits = bootstrap.percentile(np.concatenate([draw[name] for draw in draws]))
        if limits is not None:
            found[name] = limits
    return found
