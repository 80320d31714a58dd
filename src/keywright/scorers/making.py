"""Pairs from what systems predicted for documents with gold."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from pathlib import Path

from keywright import protocols
from keywright.evaluate import Match, pair
from keywright.scorers.pairs import ScoredPair, Similarity, screened


def make(
    documents: str | Path,
    predictions: Iterable[str | Path],
    *,
    protocol: str = protocols.DEFAULT,
    kind: Similarity = "both",
    zeros: int = 1,
    seed: int = 1,
    match: Match = "auto",
) -> Iterator[ScoredPair]:
    """The screened pairs of the documents' present phrases, and of their absent phrases.

    As in the reward, a prediction is compared with the gold of its own part only.
    """
    judge = protocols.load(protocol)
    rng = random.Random(seed)
    for system in predictions:
        for document, prediction in pair(documents, system, match):
            found = judge.match(document, prediction.texts)
            for part in (found.present, found.absent):
                yield from screened(part, kind, zeros, rng)
