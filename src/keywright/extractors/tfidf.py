"""TfIdf: runs of up to three words that are frequent in the document and rare elsewhere.

As pke defines it: score = count in the document * log2((1 + N) / (1 + documents that contain it)),
over the stems of the words. Hasan and Ng (2010) found it hard to beat.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from keywright.config import Count
from keywright.data.documents import read_documents
from keywright.text.candidates import STOPWORDS, CandidateText, Span, is_word, ngrams, runs
from keywright.text.reading import Stems
from keywright.types import Document, Prediction

FEWEST_LETTERS = 3


@dataclass(frozen=True)
class Config:
    documents: str | None = None  # a corpus to count in; None: the documents to predict for
    longest: Count = 3  # words
    # Candidates do not contain these words. pke 1 excluded punctuation only.
    stoplist: Literal["english", "punctuation"] = "english"
    max_phrases: Count = 10


@dataclass(frozen=True)
class Frequencies:
    """In how many of the `documents` each candidate occurs."""

    documents: int
    counts: Counter[Stems]

    def rarity(self, candidate: Stems) -> float:
        return math.log2((1 + self.documents) / (1 + self.counts[candidate]))


@dataclass(frozen=True)
class TfIdf:
    config: Config
    frequencies: Frequencies | None  # None: those of the documents to predict for

    @property
    def window(self) -> int | None:
        return None if self.frequencies is None else 1

    def predict(self, documents: Iterable[Document]) -> Iterator[Prediction]:
        frequencies = self.frequencies
        if frequencies is None:
            documents = list(documents)
            frequencies = count(documents, self.config)
        for document in documents:
            text = CandidateText.of(document)
            scored = [
                (places[0], len(places) * frequencies.rarity(candidate))
                for candidate, places in text.occurrences(_spans(text, self.config)).items()
            ]
            yield text.prediction(document, scored, self.config.max_phrases)


def build(config: Config) -> TfIdf:
    if config.documents is None:
        return TfIdf(config, None)
    return TfIdf(config, count(read_documents(config.documents), config))


def count(documents: Iterable[Document], config: Config) -> Frequencies:
    counts: Counter[Stems] = Counter()
    number = 0
    for document in documents:
        number += 1
        text = CandidateText.of(document)
        counts.update(text.occurrences(_spans(text, config)).keys())
    return Frequencies(number, counts)


def _spans(text: CandidateText, config: Config) -> Iterator[Span]:
    stopwords = STOPWORDS if config.stoplist == "english" else frozenset()
    for run in runs(text.words, lambda word: is_word(word) and word not in stopwords):
        for start, end in ngrams(run, config.longest):
            if end > start + 1 or len(text.words[start]) >= FEWEST_LETTERS:
                yield start, end
