"""Topics: candidates that share words, and how near topics or candidates are to each other.

Bougouin et al. (2013), as pke has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from keywright.errors import MissingExtraError
from keywright.extractors._graph import Array
from keywright.text.candidates import Span
from keywright.text.reading import Stems

CHUNK = 512  # occurrences whose distances from all others are computed at once


def topics(candidates: Sequence[Stems], threshold: float) -> NDArray[np.int64]:
    """The number of each candidate's topic, from 0, in the order of the candidates.

    Average linkage of Jaccard distances; candidates that share more than about a quarter of their
    stems are one topic at the threshold of 0.74.
    """
    if len(candidates) < 2:
        return np.zeros(len(candidates), dtype=np.int64)
    try:
        from scipy.cluster.hierarchy import fcluster, linkage
        from scipy.spatial.distance import squareform
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "scipy":
            raise
        raise MissingExtraError("grouping candidates into topics", "scipy", "extractors") from None
    # Sorted as in pke, because ties between distances are broken by the order of the rows.
    order = sorted(range(len(candidates)), key=lambda at: " ".join(candidates[at]))
    distances = squareform(jaccard_distances([candidates[at] for at in order]), checks=False)
    found = fcluster(linkage(distances, "average"), threshold, "distance")
    numbers = dict(zip(order, found.tolist(), strict=True))
    first: dict[int, int] = {}
    for at in range(len(candidates)):
        first.setdefault(numbers[at], len(first))
    return np.array([first[numbers[at]] for at in range(len(candidates))], dtype=np.int64)


def jaccard_distances(candidates: Sequence[Stems]) -> Array:
    """1 - shared stems / all stems, for every pair of candidates [N, N]."""
    numbers = {stem: i for i, stem in enumerate({stem for c in candidates for stem in c})}
    has = np.zeros((len(candidates), len(numbers)))
    for row, candidate in enumerate(candidates):
        has[row, [numbers[stem] for stem in candidate]] = 1
    shared, sizes = has @ has.T, has.sum(axis=1)
    found: Array = 1 - shared / (sizes[:, None] + sizes - shared)
    return found


def nearness(candidates: Mapping[Stems, Sequence[Span]], groups: NDArray[np.int64]) -> Array:
    """The sum of 1 / gap over all pairs of occurrences of two groups [G, G]; 0 within a group.

    `groups` [N] are the groups of the candidates. The gap is the number of words from the last
    word of the earlier occurrence to the first word of the later one.
    """
    lengths = [len(places) for places in candidates.values()]
    owner = np.repeat(groups, lengths)
    spans = np.array([span for places in candidates.values() for span in places])
    start, last = spans[:, 0], spans[:, 1] - 1
    size = int(groups.max()) + 1
    found = np.zeros((size, size))
    for at in range(0, len(spans), CHUNK):
        part = slice(at, at + CHUNK)
        gap = np.maximum(start[None] - last[part, None], start[part, None] - last[None])
        near = 1 / np.maximum(gap, 1)  # neighbours have a gap of 1
        rows = np.zeros((near.shape[0], size))
        np.add.at(rows.T, owner, near.T)
        np.add.at(found, owner[part], rows)
    np.fill_diagonal(found, 0)
    return found
