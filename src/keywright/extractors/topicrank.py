"""TopicRank (Bougouin et al. 2013): PageRank over topics, groups of candidates that share words.

Topics are all connected, by the nearness of their candidates' occurrences. The candidate that
occurs first represents its topic.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

from keywright.config import Count, Fraction, Probability
from keywright.extractors import _graph, _topics
from keywright.extractors._graph import Edges, TaggedExtractor, TaggedText, TaggerName
from keywright.text.candidates import Span

TOLERANCE = 1e-6  # of a topic's rank


@dataclass(frozen=True)
class Config:
    threshold: Probability = 0.74  # distance up to which candidates are of one topic
    damping: Fraction = 0.85
    represent: Literal["first", "frequent"] = "first"  # the candidate that stands for a topic
    tagger: TaggerName = "textblob"
    max_phrases: Count = 10


def score(config: Config, text: TaggedText) -> list[tuple[Span, float]]:
    """The first place of every topic's representative, and the rank of the topic."""
    candidates = text.without_stopwords(text.longest_runs())
    if not candidates:
        return []
    topic = _topics.topics(list(candidates), config.threshold)
    edges = Edges.of(_topics.nearness(candidates, topic))
    ranks = _graph.pagerank(int(topic.max()) + 1, edges, config.damping, TOLERANCE)
    members: dict[int, list[list[Span]]] = {}
    for number, places in zip(topic.tolist(), candidates.values(), strict=True):
        members.setdefault(number, []).append(places)
    return [
        (_representative(found, config.represent), float(ranks[number]))
        for number, found in members.items()
    ]


def _representative(members: list[list[Span]], by: str) -> Span:
    if by == "frequent":
        return min(members, key=lambda places: (-len(places), places[0]))[0]
    return min(places[0] for places in members)


def build(config: Config) -> TaggedExtractor:
    tag = _graph.tagger(config.tagger, "topicrank")
    return TaggedExtractor(tag, partial(score, config), config.max_phrases)
