"""Where phrases are drawn on the map: those of the same documents near each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

ROUNDS = 300
LETTER = 0.0115  # the width of a letter, and
LINE = 0.034  # the height of a label, in widths of the map
ASPECT = 0.7  # height of the map / width

Points = NDArray[np.float64]


def placed(
    labels: Sequence[str], together: Mapping[tuple[int, int], float], aspect: float = ASPECT
) -> Points:
    """A place [N, 2] for each label, in [0, 1] x [0, aspect]; the same for the same input.

    Forces as in Fruchterman and Reingold (1991); then labels that overlap are moved apart.
    """
    count = len(labels)
    if count == 0:
        return np.zeros((0, 2))
    angle = np.arange(count) * 2.399963  # the golden angle: an even spiral, whatever the number
    radius = np.sqrt((np.arange(count) + 0.5) / count) / 2
    places = np.stack([radius * np.cos(angle), radius * np.sin(angle) * aspect], axis=1)
    pull = np.zeros((count, count))
    for (a, b), strength in together.items():
        pull[a, b] = pull[b, a] = strength
    ideal = np.sqrt(aspect / count)
    for step in range(ROUNDS):
        difference = places[:, None] - places[None]
        distance = np.maximum(np.linalg.norm(difference, axis=2), 1e-4)
        force = ideal**2 / distance - pull * distance**2 / ideal
        np.fill_diagonal(force, 0.0)
        moved = (difference / distance[..., None] * force[..., None]).sum(axis=1)
        moved -= places * np.array([0.5, 0.5 / aspect]) * ideal  # towards the middle
        length = np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1e-9)
        warm = 0.1 * (1 - step / ROUNDS)
        places = places + moved / length * np.minimum(length, warm)
    sizes = np.array([[len(label) * LETTER + 0.02, LINE] for label in labels])
    return _apart(_fitted(places, aspect), sizes, aspect)


def _fitted(places: Points, aspect: float) -> Points:
    """The places spread over the whole map: half by their distances, half by their order."""
    low, high = places.min(axis=0), places.max(axis=0)
    scaled = (places - low) / np.maximum(high - low, 1e-9)
    ranks = places.argsort(axis=0, kind="stable").argsort(axis=0) / max(len(places) - 1, 1)
    return np.asarray((scaled + ranks) / 2 * np.array([1.0, aspect]))


def _apart(places: Points, sizes: Points, aspect: float) -> Points:
    """Move overlapping labels apart, along the shorter way, and keep all inside the map."""
    half = sizes / 2
    least = np.minimum(half, np.array([0.5, aspect / 2]))
    most = np.array([1.0, aspect]) - least
    places = np.clip(places, least, most)
    for _ in range(ROUNDS):
        difference = places[:, None] - places[None]
        overlap = (half[:, None] + half[None]) - np.abs(difference)
        hit = np.asarray((overlap > 0).all(axis=2))
        np.fill_diagonal(hit, False)
        if not hit.any():
            break
        # Equal places are told apart by their order.
        order = np.sign(np.arange(len(places))[:, None] - np.arange(len(places))[None])
        sign = np.where(difference == 0, order[..., None], np.sign(difference))
        vertical = overlap[..., 1] <= overlap[..., 0]
        push = sign * overlap / 2 * np.stack([hit & ~vertical, hit & vertical], axis=2)
        places = np.clip(places + 0.5 * push.sum(axis=1), least, most)
    return places
