"""RAKE (Rose et al. 2010): candidates between stop words, scored by the degree of their words.

A word's degree is the number of words in the candidates that it occurs in, counted at every
occurrence; its score is degree / frequency. A candidate's score is the sum of its words' scores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from keywright.config import Count
from keywright.extractors import _graph
from keywright.text.candidates import CandidateText, Span, runs
from keywright.types import Document, Prediction


@dataclass(frozen=True)
class Config:
    score: Literal["ratio", "degree", "frequency"] = "ratio"  # of a word; ratio: degree / frequency
    longest: Count = 5  # words of a candidate; the paper has no limit
    max_phrases: Count = 10


@dataclass(frozen=True)
class Rake:
    config: Config

    @property
    def window(self) -> int:
        return 1

    def predict(self, documents: Iterable[Document]) -> Iterator[Prediction]:
        tag = _graph.tagger("stopwords", "rake")
        for document in documents:
            text = CandidateText.of(document)
            spans = list(runs(tag(text.words), lambda kind: kind == "noun"))
            scores = self._word_scores(text.stems, spans)
            scored = [
                (places[0], sum(scores[stem] for stem in phrase))
                for phrase, places in text.occurrences(spans).items()
                if len(phrase) <= self.config.longest
            ]
            yield text.prediction(document, scored, self.config.max_phrases)

    def _word_scores(self, stems: Sequence[str], spans: Sequence[Span]) -> dict[str, float]:
        frequency: Counter[str] = Counter()
        degree: Counter[str] = Counter()
        for start, end in spans:
            for stem in stems[start:end]:
                frequency[stem] += 1
                degree[stem] += end - start
        if self.config.score == "ratio":
            return {stem: degree[stem] / count for stem, count in frequency.items()}
        return dict(degree if self.config.score == "degree" else frequency)


def build(config: Config) -> Rake:
    return Rake(config)
