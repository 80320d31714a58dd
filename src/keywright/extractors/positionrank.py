"""PositionRank (Florescu and Caragea 2017): PageRank that restarts at early and frequent words.

A word restarts the walk in proportion to the sum of 1 / position over its occurrences. Candidates
are nouns with the adjectives before them, of at most three words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from keywright.config import Count, Fraction
from keywright.extractors import _graph
from keywright.extractors._graph import Array, TaggedExtractor, TaggedText, TaggerName
from keywright.text.candidates import Span

TOLERANCE = 1e-4  # of a node's rank, as in pke


@dataclass(frozen=True)
class Config:
    window: Count = 10  # words, both ends included
    damping: Fraction = 0.85
    longest: Count = 3  # words of a candidate
    normalised: bool = False  # score phrases by the mean of their words
    tagger: TaggerName = "textblob"
    max_phrases: Count = 10


def score(config: Config, text: TaggedText) -> Iterator[tuple[Span, float]]:
    numbers, path = _graph.numbered(text.nodes())
    edges = _graph.cooccurrences(path, config.window)
    restart = position_weights(len(numbers), path)
    ranks = _graph.pagerank(len(numbers), edges, config.damping, TOLERANCE, restart)
    by_stem = dict(zip(numbers, ranks.tolist(), strict=True))
    return _graph.summed(by_stem, text.noun_phrases(config.longest), config.normalised)


def build(config: Config) -> TaggedExtractor:
    tag = _graph.tagger(config.tagger, "positionrank")
    return TaggedExtractor(tag, partial(score, config), config.max_phrases)


def position_weights(nodes: int, path: Sequence[int | None]) -> Array:
    """The sum of 1 / position over the occurrences of each node; positions count from 1."""
    weights = np.zeros(nodes)
    for at, node in enumerate(path):
        if node is not None:
            weights[node] += 1 / (at + 1)
    return weights
