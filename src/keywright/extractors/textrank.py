"""TextRank (Mihalcea and Tarau 2004): words ranked by PageRank over their co-occurrences.

The nodes of the graph are the stems of nouns and adjectives. Two are connected if they occur within
a window of words, which counts all words of the text. The best nodes are keywords; adjacent
keywords form a phrase, scored by the sum of its words. Defaults are those of pke, in which every
node is a keyword. The paper keeps a third of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from keywright.config import Count, Fraction, Probability
from keywright.extractors import _graph
from keywright.extractors._graph import Tagger, TaggerName
from keywright.text.candidates import STOPWORDS, CandidateText, is_word, runs
from keywright.types import Document, Prediction

TOLERANCE = 1e-6  # of a node's rank, on average


@dataclass(frozen=True)
class Config:
    window: Count = 2  # words, both ends included: 2 connects neighbours
    damping: Fraction = 0.85
    keywords: Probability = 1.0  # the share of the nodes, best first, that phrases consist of
    normalised: bool = False  # score phrases by the mean of their words
    tagger: TaggerName = "textblob"
    max_phrases: Count = 10


@dataclass(frozen=True)
class TextRank:
    config: Config
    tag: Tagger

    @property
    def window(self) -> int:
        return 1

    def predict(self, documents: Iterable[Document]) -> Iterator[Prediction]:
        for document in documents:
            text = CandidateText.of(document)
            nodes = self._nodes(text)
            ranks = self._ranks(nodes)
            phrases = text.occurrences(runs(nodes, self._keywords(ranks).__contains__))
            scored = [
                (places[0], self._score([ranks[stem] for stem in phrase]))
                for phrase, places in phrases.items()
            ]
            yield text.prediction(document, scored, self.config.max_phrases)

    def _nodes(self, text: CandidateText) -> list[str | None]:
        """The stems of nouns and adjectives, None for all other words."""
        return [
            stem if kind != "other" and is_word(word) and word not in STOPWORDS else None
            for word, stem, kind in zip(text.words, text.stems, self.tag(text.words), strict=True)
        ]

    def _ranks(self, nodes: Sequence[str | None]) -> dict[str, float]:
        """The rank of every node, in order of first occurrence."""
        numbers, path = _graph.numbered(nodes)
        pairs = _graph.cooccurrences(path, self.config.window)
        edges = pairs._replace(weight=np.ones(len(pairs.weight)))  # how often does not matter
        ranks = _graph.pagerank(len(numbers), edges, self.config.damping, TOLERANCE)
        return dict(zip(numbers, ranks.tolist(), strict=True))

    def _keywords(self, ranks: dict[str, float]) -> set[str]:
        best = sorted(ranks, key=lambda stem: -ranks[stem])
        return set(best[: max(1, int(len(ranks) * self.config.keywords))])

    def _score(self, ranks: Sequence[float]) -> float:
        return sum(ranks) / (len(ranks) if self.config.normalised else 1)


def build(config: Config) -> TextRank:
    return TextRank(config, _graph.tagger(config.tagger, "textrank"))
