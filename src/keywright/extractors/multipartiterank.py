"""MultipartiteRank (Boudin 2018): PageRank over candidates, with edges between topics only.

Edges towards the first candidate of a topic are strengthened by those of the topic's other
candidates, the more the earlier it occurs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from keywright.config import Count, Fraction, NonNegative, Probability
from keywright.extractors import _graph, _topics
from keywright.extractors._graph import Array, Edges, TaggedExtractor, TaggedText, TaggerName
from keywright.text.candidates import Span

TOLERANCE = 1e-6  # of a candidate's rank


@dataclass(frozen=True)
class Config:
    threshold: Probability = 0.74  # distance up to which candidates are of one topic
    boost: NonNegative = 1.1  # alpha: how much first candidates are strengthened
    damping: Fraction = 0.85
    tagger: TaggerName = "textblob"
    max_phrases: Count = 10


def score(config: Config, text: TaggedText) -> list[tuple[Span, float]]:
    candidates = text.without_stopwords(text.longest_runs())
    if not candidates:
        return []
    topic = _topics.topics(list(candidates), config.threshold)
    near = _topics.nearness(candidates, np.arange(len(candidates)))
    near[topic[:, None] == topic] = 0
    first = [places[0] for places in candidates.values()]
    weights = boosted(near, topic, [start for start, _ in first], config.boost)
    edges = Edges.of(weights)
    ranks = _graph.pagerank(len(candidates), edges, config.damping, TOLERANCE)
    return list(zip(first, ranks.tolist(), strict=True))


def build(config: Config) -> TaggedExtractor:
    tag = _graph.tagger(config.tagger, "multipartiterank")
    return TaggedExtractor(tag, partial(score, config), config.max_phrases)


def boosted(near: Array, topic: NDArray[np.int64], starts: Sequence[int], boost: float) -> Array:
    """The weights [from, to] after strengthening the edges towards first candidates (eq. 2).

    `near` [N, N] are the weights before, `topic` [N] the candidates' topics, and `starts` [N] the
    places where they occur first.
    """
    weights = near.copy()
    for number in range(int(topic.max()) + 1):
        members = np.flatnonzero(topic == number)
        first = min(members.tolist(), key=starts.__getitem__)
        others = members[members != first]
        early = np.exp(1 / (1 + starts[first]))
        weights[:, first] += boost * early * near[others].sum(axis=0)
    return weights
