"""A layout of decoder states after a delimiter: do phrases start from different states?

Yuan et al. (2020), figure 2: hidden states at 1, 2 and 3 steps after a delimiter, 2,000 of each,
laid out by t-SNE with the settings of its appendix (learning rate 200, 1,000 iterations). The
states are read from a file, so nothing here depends on a model.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keywright.errors import DataError, MissingExtraError
from keywright.metric import Array

STEPS = (1, 2, 3)
SAMPLE = 2000
LEARNING_RATE = 200.0
PERPLEXITY = 30.0


@dataclass(frozen=True)
class Projection:
    """Decoder states some steps after a delimiter, in the plane.

    `rows` are the indices of the sampled states in the input; `similarity` is the mean cosine of
    two of them, 1 if all states point the same way: figure 2's "one mass of vectors" as a number.
    """

    step: int
    rows: NDArray[np.int64]  # [points]
    points: Array  # [points, 2]
    similarity: float


def read_states(path: str | Path) -> tuple[Array, NDArray[np.int64]]:
    """`states` [n, width] and `steps` [n] of a file by `numpy.savez(path, states=, steps=)`."""
    try:
        with np.load(path, allow_pickle=False) as saved:
            states = np.asarray(saved["states"], dtype=np.float64)
            steps = np.asarray(saved["steps"], dtype=np.int64)
    except FileNotFoundError:
        raise DataError("no such file", path) from None
    except KeyError as error:
        raise DataError(f"has no array {error}; it needs both states and steps", path) from None
    except (ValueError, OSError, EOFError, TypeError, zipfile.BadZipFile) as error:
        raise DataError(f"is not an .npz file of numbers ({error})", path) from None
    if states.ndim != 2 or steps.shape != states.shape[:1]:
        raise DataError(
            f"states must be [n, width] and steps [n], not {list(states.shape)} and "
            f"{list(steps.shape)}",
            path,
        )
    if not np.isfinite(states).all():
        raise DataError("has states that are not finite numbers", path)
    return states, steps


def project(
    states: Array,
    steps: NDArray[np.int64],
    *,
    at: Sequence[int] = STEPS,
    sample: int = SAMPLE,
    seed: int = 0,
) -> list[Projection]:
    """Lay out the states of each step separately, as in the columns of figure 2."""
    return [_project(states, steps, step, sample, seed) for step in at]


def _project(
    states: Array, steps: NDArray[np.int64], step: int, sample: int, seed: int
) -> Projection:
    rows = np.flatnonzero(steps == step)
    if len(rows) < 3:
        raise DataError(f"there are {len(rows)} states at step {step}; a layout needs at least 3")
    if len(rows) > sample:
        rows = np.sort(np.random.default_rng(seed).choice(rows, size=sample, replace=False))
    chosen = states[rows]
    layout = _tsne()(
        learning_rate=LEARNING_RATE,
        # The usual number of neighbours, or fewer if there are few states.
        perplexity=min(PERPLEXITY, (len(rows) - 1) / 3),
        random_state=seed,
    )
    return Projection(step, rows, layout.fit_transform(chosen), _mean_cosine(chosen))


def _mean_cosine(states: Array) -> float:
    """Over all pairs, in linear time: the squared length of the sum of unit vectors."""
    lengths = np.linalg.norm(states, axis=1, keepdims=True)
    unit = states / np.where(lengths == 0, 1.0, lengths)
    count = len(unit)
    both_ways = float((unit.sum(axis=0) ** 2).sum() - (unit**2).sum())
    return both_ways / (count * (count - 1))


def require_tsne() -> None:
    """An error that says what to install, if a layout cannot be made."""
    _tsne()


def _tsne() -> Any:
    try:
        from sklearn.manifold import TSNE
    except ImportError:
        raise MissingExtraError("t-SNE", "scikit-learn", "analysis") from None
    return TSNE
