"""Boosted trees: fitted by scikit-learn, written as ONNX and compared with the original."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from keywright.config import Count, NonNegative, Positive, Share
from keywright.errors import KeywrightError
from keywright.export.trees import write_trees
from keywright.ranking.trees import Trees, probabilities

TOLERANCE = 1e-4  # the largest difference of probabilities that rounding may cause


@dataclass(frozen=True)
class Forest:
    rounds: Count = 400  # fewer, if the documents that are held out are not predicted better
    leaves: Count = 31
    smallest: Count = 100  # rows of a leaf
    learning_rate: Positive = 0.08
    l2: NonNegative = 1.0
    features: Share = 0.5  # the share of features that a split chooses from, drawn at random


@dataclass(frozen=True)
class LabelledRows:
    """The features of candidates, and which of them are correct."""

    features: NDArray[np.float32]  # [C, F]
    correct: NDArray[np.bool_]  # [C]
    weights: NDArray[np.float64]  # [C]


def fit_trees(path: Path, train: LabelledRows, held_out: LabelledRows, config: Forest) -> None:
    """Fit and save trees; stop when the rows that are held out are no longer predicted better."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    fitted = HistGradientBoostingClassifier(
        max_iter=config.rounds,
        max_leaf_nodes=config.leaves,
        min_samples_leaf=config.smallest,
        learning_rate=config.learning_rate,
        l2_regularization=config.l2,
        max_features=config.features,
        early_stopping=True,
        n_iter_no_change=15,
        random_state=0,
    ).fit(
        train.features,
        train.correct,
        sample_weight=train.weights,
        X_val=held_out.features,
        y_val=held_out.correct,
        sample_weight_val=held_out.weights,
    )
    write_trees(path, fitted, train.features.shape[1])
    some = held_out.features[:: max(1, len(held_out.features) // 5000)]
    found = probabilities(Trees(path)(some))
    difference = np.abs(fitted.predict_proba(some)[:, 1] - found).max(initial=0.0)
    if difference > TOLERANCE:
        raise KeywrightError(
            f"{path}: ONNX Runtime and scikit-learn differ by {difference:.2g}; "
            "this version of scikit-learn stores its trees differently"
        )
