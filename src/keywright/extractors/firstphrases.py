"""FirstPhrases: the candidates that occur first, a strong baseline for news and abstracts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from keywright.config import Count
from keywright.extractors import _graph
from keywright.extractors._graph import TaggedExtractor, TaggedText, TaggerName
from keywright.text.candidates import Span


@dataclass(frozen=True)
class Config:
    tagger: TaggerName = "textblob"
    max_phrases: Count = 10


def score(config: Config, text: TaggedText) -> list[tuple[Span, float]]:
    candidates = text.without_stopwords(text.longest_runs())
    return [(places[0], -float(places[0][0])) for places in candidates.values()]


def build(config: Config) -> TaggedExtractor:
    tag = _graph.tagger(config.tagger, "firstphrases")
    return TaggedExtractor(tag, partial(score, config), config.max_phrases)
