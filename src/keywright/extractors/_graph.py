"""What the graph-based rankers share: tagged words, candidates by part of speech, and PageRank.

The definitions are those of pke (Boudin 2016), which the field's papers run as baselines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keywright.text.candidates import STOPWORDS, CandidateText, Span, is_word, runs
from keywright.text.reading import Reading, Stems
from keywright.text.speech import Kind, Tagger, TaggerName, tagger
from keywright.types import Document, Prediction

__all__ = ["Kind", "Tagger", "TaggerName", "tagger"]

Array = NDArray[np.float64]

MOST_ROUNDS = 100


@dataclass(frozen=True)
class TaggedText:
    """The words of a document, their stems, and whether they are nouns or adjectives.

    Places are positions in `words`, which has punctuation and, after a title, a border.
    """

    text: CandidateText
    kinds: Sequence[Kind]

    @classmethod
    def of(cls, document: Document, tag: Tagger) -> TaggedText:
        reading = Reading.of(document)
        bordered = reading.bordered() if reading.title_words else (reading.words, reading.stems)
        text = CandidateText(*bordered)
        kinds = zip(text.words, tag(text.words), strict=True)
        return cls(text, [kind if is_word(word) else "other" for word, kind in kinds])

    def nodes(self) -> list[str | None]:
        """The stems of nouns and adjectives; None for all other words."""
        pairs = zip(self.text.stems, self.kinds, strict=True)
        return [None if kind == "other" else stem for stem, kind in pairs]

    def longest_runs(self) -> dict[Stems, list[Span]]:
        """The longest runs of nouns and adjectives."""
        return self.text.occurrences(runs(self.kinds, lambda kind: kind != "other"))

    def noun_phrases(self, most_words: int) -> dict[Stems, list[Span]]:
        """Nouns with the adjectives before them, up to a number of words."""
        spans = _noun_phrases(self.kinds)
        return self.text.occurrences(span for span in spans if span[1] - span[0] <= most_words)

    def without_stopwords(
        self, candidates: Mapping[Stems, list[Span]], most_words: int = 5
    ) -> dict[Stems, list[Span]]:
        """Candidates without stop words, of at least three characters and not too many words."""
        return {
            stems: spans for stems, spans in candidates.items() if self._fit(spans[0], most_words)
        }

    def _fit(self, span: Span, most_words: int) -> bool:
        words = self.text.words[slice(*span)]
        short = len(" ".join(words)) < 3 or len(words) > most_words
        return not short and not STOPWORDS.intersection(words)


@dataclass(frozen=True)
class TaggedExtractor:
    """A predictor that scores spans of a tagged text; `score` is what a file of its own adds."""

    tag: Tagger
    score: Callable[[TaggedText], Iterable[tuple[Span, float]]]
    max_phrases: int

    @property
    def window(self) -> int:
        return 1

    def predict(self, documents: Iterable[Document]) -> Iterator[Prediction]:
        for document in documents:
            text = TaggedText.of(document, self.tag)
            yield text.text.prediction(document, self.score(text), self.max_phrases)


def summed(
    ranks: Mapping[str, float], candidates: Mapping[Stems, list[Span]], mean: bool
) -> Iterator[tuple[Span, float]]:
    """The first place of every candidate, and the sum or mean of its words' ranks."""
    for phrase, places in candidates.items():
        score = sum(ranks[stem] for stem in phrase)
        yield places[0], score / (len(phrase) if mean else 1)


def _noun_phrases(kinds: Sequence[Kind]) -> Iterator[Span]:
    """The longest matches of adjective* noun+, from left to right."""
    start = place = 0
    for kind, run in groupby(kinds):
        begin, place = place, place + len(list(run))
        if kind == "noun":
            yield start, place
        start = begin if kind == "adjective" else place


class Edges(NamedTuple):
    """Directed, weighted edges between numbered nodes, each pair at most once."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    weight: Array

    @classmethod
    def of(cls, weights: Array) -> Edges:
        """The edges of a matrix [from, to]; those of weight 0 do not exist."""
        source, target = weights.nonzero()
        return cls(source, target, weights[source, target])


def cooccurrences(nodes: Sequence[int | None], window: int) -> Edges:
    """How often two different nodes occur in a window of words, as edges in both directions."""
    path = np.array([-1 if node is None else node for node in nodes], dtype=np.int64)
    size = int(path.max(initial=0)) + 1
    pairs = [np.zeros(0, np.int64)]
    for distance in range(1, min(window, len(path))):
        first, second = path[:-distance], path[distance:]
        kept = (first >= 0) & (second >= 0) & (first != second)
        pairs += [first[kept] * size + second[kept], second[kept] * size + first[kept]]
    found, counts = np.unique(np.concatenate(pairs), return_counts=True)
    return Edges(found // size, found % size, counts.astype(np.float64))


def numbered(nodes: Sequence[str | None]) -> tuple[dict[str, int], list[int | None]]:
    """A number for every different node, by first occurrence; and the text in numbers."""
    numbers = {stem: i for i, stem in enumerate(dict.fromkeys(filter(None, nodes)))}
    return numbers, [None if stem is None else numbers[stem] for stem in nodes]


def pagerank(
    nodes: int,
    edges: Edges,
    damping: float,
    tolerance: float,
    restart: Array | None = None,
) -> Array:
    """The stationary distribution of a random walk that restarts with probability 1 - damping.

    `restart` [nodes] are weights of the nodes at which it restarts, all equal by default; a walk
    also restarts from a node without edges. Iterations end when the ranks change by less than
    `tolerance` on average.
    """
    if not nodes:
        return np.zeros(0)
    begin = np.ones(nodes) if restart is None else restart
    begin = begin / begin.sum()
    leaving = np.bincount(edges.source, weights=edges.weight, minlength=nodes)
    share = edges.weight / leaving[edges.source]
    rank = np.full(nodes, 1 / nodes)
    for _ in range(MOST_ROUNDS):
        arriving = np.bincount(edges.target, weights=rank[edges.source] * share, minlength=nodes)
        lost = rank[leaving == 0].sum()
        before, rank = rank, damping * (arriving + lost * begin) + (1 - damping) * begin
        if np.abs(rank - before).sum() < nodes * tolerance:
            break
    return rank
