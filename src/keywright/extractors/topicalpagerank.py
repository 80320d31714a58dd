"""Topical PageRank (Liu et al. 2010) with one walk (Sterckx et al. 2015): words of the document's
topics come first.

The graph is SingleRank's. The walk restarts at a word in proportion to the cosine of two vectors
over the topics of a topic model: how probable the word is in each topic, and how much of the
document each topic is. Words that the topic model does not know have the smallest cosine of those
that it knows. The topic model is learned by `keywright fit-extractor topicalpagerank`; documents
need no keyphrases for this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from msgspec import Struct

from keywright.config import Count, Fraction
from keywright.errors import DataError
from keywright.extractors import _graph, _lda, _supervised
from keywright.extractors._graph import Array, TaggedExtractor, TaggedText, TaggerName
from keywright.text.candidates import STOPWORDS, Span, is_word
from keywright.text.reading import Reading
from keywright.types import Document

NAME = "topicalpagerank"
TOLERANCE = 1e-4  # of a node's rank, as in pke


@dataclass(frozen=True)
class Config:
    fitted: str | None = None  # a file of `keywright fit-extractor topicalpagerank`
    # For fitting:
    topics: Count = 50
    vocabulary: Count = 10_000  # the most frequent stems
    rounds: Count = 20  # over all documents
    seed: int = 0
    # For predicting:
    window: Count = 10  # words, both ends included
    damping: Fraction = 0.85
    longest: Count = 3  # words of a candidate
    normalised: bool = False  # score phrases by the mean of their words
    tagger: TaggerName = "textblob"
    max_phrases: Count = 10


class Learned(Struct, frozen=True):
    documents: int
    topics: int
    stems: tuple[str, ...]
    weights: bytes  # [topics, stems], 32 bits


@dataclass(frozen=True)
class TopicModel:
    weights: Array  # [topics, stems]
    stems: Sequence[str]

    @cached_property
    def numbers(self) -> dict[str, int]:
        return {stem: number for number, stem in enumerate(self.stems)}

    @cached_property
    def _expected(self) -> Array:
        return _lda.exp_expectation(self.weights)

    @cached_property
    def _probabilities(self) -> Array:
        """p(word | topic), [topics, words]."""
        found: Array = self.weights / self.weights.sum(1, keepdims=True)
        return found

    def document(self, stems: Iterable[str]) -> Array:
        """How much of a document each topic is."""
        bag = bag_of(stems, self.numbers)
        gamma = _lda.posterior(bag, self._expected[:, bag.words])
        shares: Array = gamma / gamma.sum()
        return shares

    def similarities(self, stems: Iterable[str], document: Array) -> dict[str, float]:
        """The cosines of words with a document; unknown words have the smallest one."""
        found = {
            stem: cosine(self._probabilities[:, self.numbers[stem]], document)
            for stem in stems
            if stem in self.numbers
        }
        smallest = min(found.values(), default=1.0)
        return {stem: found.get(stem, smallest) for stem in stems}


def fit(documents: Iterable[Document], config: Config) -> Learned:
    found = [Counter(content_stems(document)) for document in documents]
    if len(found) < _supervised.FEWEST_DOCUMENTS:
        raise DataError(
            f"{NAME} needs at least {_supervised.FEWEST_DOCUMENTS} documents to learn from, and "
            f"there are {len(found)}"
        )
    totals: Counter[str] = Counter()
    for counts in found:
        totals.update(counts)
    ranked = sorted(totals, key=lambda stem: (-totals[stem], stem))[: config.vocabulary]
    numbers = {stem: number for number, stem in enumerate(ranked)}
    bags = [bag_of(counts.elements(), numbers) for counts in found]
    weights = _lda.fit(bags, len(ranked), config.topics, config.rounds, config.seed)
    packed = weights.astype("<f4").tobytes()
    return Learned(len(found), config.topics, tuple(ranked), packed)


def build(config: Config) -> TaggedExtractor:
    learned = _supervised.load(config.fitted, NAME, Learned)
    if len(learned.weights) != 4 * learned.topics * len(learned.stems) or not learned.weights:
        raise DataError("is damaged: its topics do not fit its words", config.fitted)
    weights = np.frombuffer(learned.weights, "<f4").reshape(learned.topics, -1).astype(np.float64)
    if not (np.isfinite(weights).all() and (weights > 0).all()):
        raise DataError("is damaged: weights of topics are not above 0", config.fitted)
    model = TopicModel(weights, learned.stems)
    tag = _graph.tagger(config.tagger, NAME)
    return TaggedExtractor(tag, partial(score, config, model), config.max_phrases)


def score(config: Config, model: TopicModel, text: TaggedText) -> Iterator[tuple[Span, float]]:
    numbers, path = _graph.numbered(text.nodes())
    edges = _graph.cooccurrences(path, config.window)
    document = model.document(content(text.text.words, text.text.stems))
    restart = np.array(list(model.similarities(numbers, document).values()))
    ranks = _graph.pagerank(len(numbers), edges, config.damping, TOLERANCE, restart)
    by_stem: Mapping[str, float] = dict(zip(numbers, ranks.tolist(), strict=True))
    return _graph.summed(by_stem, text.noun_phrases(config.longest), config.normalised)


def cosine(left: Array, right: Array) -> float:
    return float(left @ right / (np.linalg.norm(left) * np.linalg.norm(right)))


def content_stems(document: Document) -> Iterator[str]:
    reading = Reading.of(document)
    return content(reading.words, reading.stems)


def content(words: Sequence[str], stems: Sequence[str]) -> Iterator[str]:
    """The stems of words that are not stop words."""
    for word, stem in zip(words, stems, strict=True):
        if is_word(word) and word not in STOPWORDS:
            yield stem


def bag_of(stems: Iterable[str], numbers: Mapping[str, int]) -> _lda.Bag:
    counts = Counter(numbers[stem] for stem in stems if stem in numbers)
    words = np.fromiter(counts, np.int64, len(counts))
    return _lda.Bag(words, np.fromiter(counts.values(), np.float64, len(counts)))
