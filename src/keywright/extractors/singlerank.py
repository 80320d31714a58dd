"""SingleRank (Wan and Xiao 2008): words ranked by PageRank over how often they occur together.

Like TextRank, with a window of ten words and edges weighted by the number of co-occurrences;
candidates are the longest runs of nouns and adjectives, scored by the sum of their words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from keywright.config import Count, Fraction
from keywright.extractors import _graph
from keywright.extractors._graph import TaggedExtractor, TaggedText, TaggerName
from keywright.text.candidates import Span

TOLERANCE = 1e-4  # of a node's rank, as in pke


@dataclass(frozen=True)
class Config:
    window: Count = 10  # words, both ends included
    damping: Fraction = 0.85
    normalised: bool = False  # score phrases by the mean of their words
    tagger: TaggerName = "textblob"
    max_phrases: Count = 10


def score(config: Config, text: TaggedText) -> Iterator[tuple[Span, float]]:
    numbers, path = _graph.numbered(text.nodes())
    edges = _graph.cooccurrences(path, config.window)
    ranks = _graph.pagerank(len(numbers), edges, config.damping, TOLERANCE)
    by_stem = dict(zip(numbers, ranks.tolist(), strict=True))
    return _graph.summed(by_stem, text.longest_runs(), config.normalised)


def build(config: Config) -> TaggedExtractor:
    tag = _graph.tagger(config.tagger, "singlerank")
    return TaggedExtractor(tag, partial(score, config), config.max_phrases)
