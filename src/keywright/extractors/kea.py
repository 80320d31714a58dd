"""KEA (Witten et al. 1999): naive Bayes over how frequent, rare and early a candidate is.

Candidates have up to three words and neither begin nor end with a stop word. Their two features,
TFxIDF and the position of the first occurrence, are cut into intervals in which keyphrases are more
or less frequent. Two things differ from the paper: stems are Porter's instead of Lovins', and
single proper nouns are candidates, because words are read in lower case.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec import Struct

from keywright.config import Count
from keywright.extractors import _supervised
from keywright.extractors._discretise import mdl_cuts
from keywright.text.candidates import CandidateText, Span
from keywright.text.reading import Stems
from keywright.types import Document, Prediction

NAME = "kea"


@dataclass(frozen=True)
class Config:
    fitted: str | None = None  # a file of `keywright fit-extractor kea`
    longest: Count = 3  # words
    max_phrases: Count = 10


class Intervals(Struct, frozen=True):
    """A feature: where it is cut, and how many candidates fall into each interval."""

    cuts: tuple[float, ...]
    wrong: tuple[int, ...]
    right: tuple[int, ...]

    def likelihoods(self, value: float) -> tuple[float, float]:
        """P(interval | no keyphrase) and P(interval | keyphrase), with Laplace's correction."""
        at = bisect_right(self.cuts, value)
        wrong, right = (
            (counts[at] + 1) / (sum(counts) + len(counts)) for counts in (self.wrong, self.right)
        )
        return wrong, right


class Learned(Struct, frozen=True):
    documents: int
    frequencies: dict[str, int]  # of candidates that occur in two documents or more
    tfidf: Intervals
    position: Intervals

    def probability(self, tfidf: float, position: float) -> float:
        """That a candidate is a keyphrase (section 2.4)."""
        prior = sum(self.tfidf.wrong), sum(self.tfidf.right)
        by_tfidf, by_position = self.tfidf.likelihoods(tfidf), self.position.likelihoods(position)
        wrong, right = (p * a * b for p, a, b in zip(prior, by_tfidf, by_position, strict=True))
        return right / (wrong + right)


@dataclass(frozen=True)
class Candidate:
    stems: Stems
    first: Span
    tfidf: float
    position: float  # words before the first occurrence, as a share of the document


@dataclass(frozen=True)
class Kea:
    config: Config
    learned: Learned

    @property
    def window(self) -> int:
        return 1

    def predict(self, documents: Iterable[Document]) -> Iterator[Prediction]:
        learned = self.learned
        for document in documents:
            text = CandidateText.of(document)
            found = list(
                _candidates(text, learned.frequencies, learned.documents + 1, 1, self.config)
            )
            scored = [(learned.probability(c.tfidf, c.position), c.tfidf, c) for c in found]
            # Equal probabilities are frequent, because intervals are wide; longer phrases first.
            scored.sort(key=lambda entry: (-entry[0], -entry[1], -len(entry[2].stems)))
            best = _distinct(((c, p) for p, _, c in scored), self.config.max_phrases)
            yield text.ranked(document, best)


def build(config: Config) -> Kea:
    return Kea(config, _supervised.load(config.fitted, NAME, Learned))


def fit(documents: Iterable[Document], config: Config) -> Learned:
    """Learn from documents with keyphrases."""
    gold = _supervised.require_gold(documents, NAME)
    texts = [CandidateText.of(document) for document in gold]
    frequencies = _supervised.document_frequencies(
        (" ".join(phrase) for phrase in _places(text, config)) for text in texts
    )
    values: list[tuple[float, float]] = []
    labels: list[bool] = []
    for document, text in zip(gold, texts, strict=True):
        wanted = set(_supervised.gold_stems(document))
        # Its own occurrence is among the counts.
        for candidate in _candidates(text, frequencies, len(gold), 0, config):
            values.append((candidate.tfidf, candidate.position))
            labels.append(candidate.stems in wanted)
    table, right = np.array(values), np.array(labels)
    tfidf, position = (_intervals(table[:, column], right) for column in (0, 1))
    return Learned(len(gold), frequencies, tfidf, position)


def _places(text: CandidateText, config: Config) -> dict[Stems, list[Span]]:
    return text.occurrences(_supervised.candidate_spans(text, config.longest))


def _candidates(
    text: CandidateText, frequencies: dict[str, int], documents: int, unseen: int, config: Config
) -> Iterator[Candidate]:
    """The candidates of a document; `unseen` is 1 if the document is not among those counted."""
    size = len(text.words)
    for phrase, places in _places(text, config).items():
        occurs_in = frequencies.get(" ".join(phrase), 1 - unseen) + unseen
        rarity = -math.log2(occurs_in / documents)
        yield Candidate(phrase, places[0], len(places) / size * rarity, places[0][0] / size)


def _intervals(values: np.ndarray, right: np.ndarray) -> Intervals:
    cuts = mdl_cuts(values, right)
    places = np.searchsorted(cuts, values, side="right")
    wrong, correct = (
        tuple(np.bincount(places[chosen], minlength=len(cuts) + 1).tolist())
        for chosen in (~right, right)
    )
    return Intervals(tuple(cuts), wrong, correct)


def _distinct(ranked: Iterable[tuple[Candidate, float]], most: int) -> list[tuple[Span, float]]:
    """The best candidates, without those that are a part of a better one."""
    kept: list[Stems] = []
    found: list[tuple[Span, float]] = []
    for candidate, score in ranked:
        if len(found) == most:
            break
        if not any(_contains(better, candidate.stems) for better in kept):
            kept.append(candidate.stems)
            found.append((candidate.first, score))
    return found


def _contains(phrase: Sequence[str], part: Sequence[str]) -> bool:
    starts = range(len(phrase) - len(part) + 1)
    return any(tuple(phrase[at : at + len(part)]) == tuple(part) for at in starts)
