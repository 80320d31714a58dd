"""TextRank (Mihalcea and Tarau 2004): words ranked by PageRank over who stands beside whom.

The graph's nodes are the stems of nouns and adjectives; two are joined where they occur within a
window of words, in which all other words count as well. The best nodes are keywords, and keywords
that stand together in the text are a phrase, scored by the sum of its words. Defaults are pke's:
every node is a keyword. The paper keeps a third of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keywright.config import Count, Fraction, Probability
from keywright.errors import MissingExtraError
from keywright.extractors._candidates import STOPWORDS, Text, is_word, runs
from keywright.types import Document, Prediction

Tagger = Callable[[Sequence[str]], list[str]]
"""The Penn Treebank tags of words."""

NOUNS_AND_ADJECTIVES = ("NN", "JJ")  # with NNS, NNP, NNPS, JJR, JJS
TOLERANCE = 1e-6  # of a node's rank, on average
MOST_ROUNDS = 100


@dataclass(frozen=True)
class Config:
    window: Count = 2  # words, both ends included: 2 joins neighbours
    damping: Fraction = 0.85
    keywords: Probability = 1.0  # the best share of the nodes, which phrases are made of
    normalised: bool = False  # score phrases by the mean of their words
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
            text = Text.of(document)
            nodes = self._nodes(text)
            ranks = self._ranks(nodes)
            phrases = text.occurrences(runs(nodes, self._keywords(ranks).__contains__))
            scored = [
                (places[0], self._score([ranks[stem] for stem in phrase]))
                for phrase, places in phrases.items()
            ]
            yield text.prediction(document, scored, self.config.max_phrases)

    def _nodes(self, text: Text) -> list[str | None]:
        """The stems of nouns and adjectives, None for all other words."""
        return [
            stem if _is_noun_or_adjective(tag) and is_word(word) and word not in STOPWORDS else None
            for word, stem, tag in zip(text.words, text.stems, self.tag(text.words), strict=True)
        ]

    def _ranks(self, nodes: Sequence[str | None]) -> dict[str, float]:
        """The rank of every node, in order of first occurrence."""
        numbers = {stem: i for i, stem in enumerate(dict.fromkeys(filter(None, nodes)))}
        path = [None if stem is None else numbers[stem] for stem in nodes]
        ranks = pagerank(len(numbers), edges(path, self.config.window), self.config.damping)
        return dict(zip(numbers, ranks.tolist(), strict=True))

    def _keywords(self, ranks: dict[str, float]) -> set[str]:
        best = sorted(ranks, key=lambda stem: -ranks[stem])
        return set(best[: max(1, int(len(ranks) * self.config.keywords))])

    def _score(self, ranks: Sequence[float]) -> float:
        return sum(ranks) / (len(ranks) if self.config.normalised else 1)


def build(config: Config) -> TextRank:
    return TextRank(config, _tagger())


def edges(path: Sequence[int | None], window: int) -> set[tuple[int, int]]:
    """Pairs of different nodes that occur together in a window, the smaller first."""
    return {
        (min(node, other), max(node, other))
        for at, node in enumerate(path)
        for other in path[at + 1 : at + window]
        if node is not None and other is not None and node != other
    }


def pagerank(nodes: int, pairs: set[tuple[int, int]], damping: float) -> NDArray[np.float64]:
    """The stationary visits of a walker who leaves for any node with probability 1 - damping.

    `pairs` are joined both ways; from a node without any, the walker goes anywhere.
    """
    both = np.array([*pairs, *((b, a) for a, b in pairs)], dtype=np.int64).reshape(-1, 2)
    source, target = both[:, 0], both[:, 1]
    degree = np.bincount(source, minlength=nodes)
    rank = np.full(nodes, 1 / max(1, nodes))
    for _ in range(MOST_ROUNDS):
        share = rank / np.maximum(degree, 1)
        arriving = np.bincount(target, weights=share[source], minlength=nodes)
        lost = rank[degree == 0].sum()
        before, rank = rank, damping * arriving + (damping * lost + 1 - damping) / max(1, nodes)
        if np.abs(rank - before).sum() < nodes * TOLERANCE:
            break
    return rank


def _is_noun_or_adjective(tag: str) -> bool:
    return tag.startswith(NOUNS_AND_ADJECTIVES)


def _tagger() -> Tagger:
    try:
        from textblob.en import parser  # a lexicon of 94,000 words and suffix rules, all offline
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "textblob":
            raise
        what = "textrank's part-of-speech filter"
        raise MissingExtraError(what, "textblob", "extractors") from None

    def tag(words: Sequence[str]) -> list[str]:
        return [tag for _, tag in parser.find_tags(list(words))]

    return tag
