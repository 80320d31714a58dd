"""The terms of a controlled vocabulary as candidates of a ranker.

A term that occurs in the text is scored like any candidate from the text, all others like phrases
that are absent: by what is known about the phrase and by how near its words are to the document in
the topic model. Absent terms that are as improbable as noise are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from keywright.ranking.candidates import RankerView
from keywright.ranking.features import Judged
from keywright.ranking.keys import word_keys
from keywright.ranking.model import NOISE
from keywright.ranking.topics import Topics
from keywright.text.reading import Stems
from keywright.text.stem import stems
from keywright.text.tokenise import normalise
from keywright.types import Document, Prediction, ScoredPhrase

# Absent terms that are scored: all of a small vocabulary, the nearest of a large one.
MOST_ABSENT = 300

Probabilities = NDArray[np.float64]


class PhraseScorer(Protocol):
    """A ranker that can score given phrases."""

    @property
    def topics(self) -> Topics: ...

    def __call__(self, documents: Sequence[Document]) -> list[Prediction]: ...

    def judged(self, documents: Sequence[Document]) -> list[Judged]: ...

    def score(
        self, judged: Judged, present: Sequence[Stems], absent: Mapping[Stems, str]
    ) -> tuple[Probabilities, Probabilities]:
        """The probabilities of some candidates from the text, and of some phrases as absent."""


class TermRanker:
    """Documents -> what the ranker predicts, and the terms of a vocabulary with probabilities."""

    def __init__(self, ranker: PhraseScorer, names: Iterable[str]):
        self._ranker = ranker
        self._names: dict[Stems, str] = {}
        for name in names:
            if phrase := tuple(stems(normalise(name))):
                self._names.setdefault(phrase, name)
        self._vectors = _directions(ranker.topics, list(self._names))

    def __reduce__(self) -> tuple[Any, ...]:
        return TermRanker, (self._ranker, list(self._names.values()))

    def __call__(self, documents: Sequence[Document]) -> list[Prediction]:
        own = self._ranker(documents)
        judged = self._ranker.judged(documents)
        return [self._with_terms(*pair) for pair in zip(own, judged, strict=True)]

    def _with_terms(self, own: Prediction, judged: Judged) -> Prediction:
        view = judged.view
        inside = [phrase for phrase in self._names if _may_be_in(phrase, view)]
        candidates = [phrase for phrase in inside if phrase in view.candidates]
        # Candidates have few words and no stop word at either end; a term may be another run.
        runs = [phrase for phrase in inside if phrase not in view.candidates and view.has(phrase)]
        absent = {
            phrase: self._names[phrase]
            for phrase in [*runs, *self._nearest(judged, {*candidates, *runs})]
        }
        sure, unsure = self._ranker.score(judged, candidates, absent)
        scored = [*zip(candidates, sure, strict=True), *zip(absent, unsure, strict=True)]
        found = {
            self._names[phrase]: float(probability)
            for phrase, probability in scored
            if probability >= NOISE or phrase in view.candidates or phrase in runs
        }
        terms = [
            ScoredPhrase(text=name, words=len(name.split()), confidence=probability)
            for name, probability in found.items()
        ]
        others = [phrase for phrase in own.phrases if phrase.text not in found]
        every = sorted([*terms, *others], key=lambda phrase: -(phrase.confidence or 0.0))
        return Prediction(document_id=own.document_id, phrases=tuple(every))

    def _nearest(self, judged: Judged, present: set[Stems]) -> list[Stems]:
        left = [number for number, phrase in enumerate(self._names) if phrase not in present]
        phrases = list(self._names)
        if len(left) > MOST_ABSENT:
            near = self._vectors[left] @ judged.topic.vector
            left = [left[at] for at in np.argsort(-near, kind="stable")[:MOST_ABSENT]]
        return [phrases[number] for number in left]


def _may_be_in(phrase: Stems, view: RankerView) -> bool:
    return all(stem in view.tally for stem in phrase)


def _directions(topics: Topics, phrases: Sequence[Stems]) -> NDArray[np.float32]:
    """The mean direction of each phrase's words in the topic model [N, E]; unknown words are 0."""
    found = np.zeros((len(phrases), topics.vectors.shape[1]), np.float32)
    for number, phrase in enumerate(phrases):
        places = topics.terms.places(word_keys(phrase))
        found[number] = topics.vectors[places[places >= 0]].astype(np.float32).sum(axis=0)
    lengths = np.linalg.norm(found, axis=1, keepdims=True).clip(min=1e-6)
    return np.asarray(found / lengths, np.float32)
