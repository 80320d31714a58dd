"""Keyphrases for readers: written as in the text, with their places, without near-repeats."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from keywright.generation.sentences import Sentence, sentences
from keywright.text.presence import runs
from keywright.text.stem import stems
from keywright.text.tokenise import normalise, spans, words
from keywright.types import Document, Prediction, ScoredPhrase


class Keyphrase(msgspec.Struct, frozen=True, kw_only=True):
    """A keyphrase of a document.

    `probability` is the chance that it is right (None where a model gives none). `places` are the
    characters [start, end) of `Document.text` where a present phrase stands; `evidence` is the
    sentence most related to an absent one.
    """

    text: str
    probability: float | None
    present: bool
    places: tuple[tuple[int, int], ...] = ()
    evidence: str | None = None


class Text:
    """A document's text, searched for phrases."""

    def __init__(self, document: Document) -> None:
        self.text = document.text
        self._title_end = len(document.title)
        self.spans = spans(self.text)
        self.stems = stems(normalise(self.text))
        self._sentences: list[Sentence] | None = None

    def places(self, phrase: Sequence[str]) -> list[tuple[int, int]]:
        """Where stems stand in a row, as characters [start, end), never across the title's end."""
        found = (
            (self.spans[at].start, self.spans[at + len(phrase) - 1].end)
            for at in runs(phrase, self.stems)
        )
        return [(start, end) for start, end in found if not start < self._title_end < end]

    def surface(self, places: Iterable[tuple[int, int]]) -> str:
        """The commonest spelling at these places, the first one on ties, in one line."""
        spellings = Counter(" ".join(self.text[start:end].split()) for start, end in places)
        best = max(spellings.values())
        return next(text for text, count in spellings.items() if count == best)

    def most_related(self, phrase: Sequence[str]) -> str | None:
        """The sentence that shares most with a phrase, rare words counting more."""
        if self._sentences is None:
            self._sentences = sentences(self.text)
        wanted = set(phrase)
        bags = [set(stems(normalise(sentence.text))) for sentence in self._sentences]
        frequency = Counter(word for bag in bags for word in bag)
        scores = [sum(1 / frequency[word] for word in wanted & bag) for bag in bags]
        if not scores or max(scores) == 0.0:
            return None
        return self._sentences[scores.index(max(scores))].text


class _Candidate(NamedTuple):
    stems: tuple[str, ...]
    phrase: ScoredPhrase
    rank: int
    probability: float | None


def keyphrases(document: Document, prediction: Prediction) -> list[Keyphrase]:
    """A prediction's phrases without near-repeats, best first."""
    text = Text(document)
    found = []
    for candidate in merge(_candidates(document, prediction)):
        places = tuple(text.places(candidate.stems))
        found.append(
            Keyphrase(
                text=text.surface(places) if places else _tidy(candidate.phrase.text),
                probability=candidate.probability,
                present=bool(places),
                places=places,
                evidence=None if places else text.most_related(candidate.stems),
            )
        )
    return found


def _candidates(document: Document, prediction: Prediction) -> list[_Candidate]:
    found = []
    for rank, phrase in enumerate(prediction.phrases):
        tokens = tuple(stems(words(phrase.text, document.tokenised)))
        if tokens and any(any(c.isalnum() for c in token) for token in tokens):
            found.append(_Candidate(tokens, phrase, rank, _probability(phrase)))
    return found


def _probability(phrase: ScoredPhrase) -> float | None:
    """The recalibrated confidence, or else the inverse of the phrase's perplexity."""
    if phrase.confidence is not None:
        return phrase.confidence
    if phrase.token_log_probs and phrase.log_prob is not None:
        return math.exp(phrase.log_prob / max(1, phrase.words or len(phrase.token_log_probs)))
    return None


def merge(candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """Drop near-repeats, keeping the better: other inflections or word order, and phrases
    contained in one that is more probable or longer ("network" beside "neural network")."""
    ranked = sorted(
        candidates,
        key=lambda one: (-(one.probability if one.probability is not None else 0.0), one.rank),
    )
    kept: list[_Candidate] = []
    for one in ranked:
        if not any(_near(one.stems, other.stems) for other in kept):
            kept.append(one)
    return kept


def _near(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    if sorted(one) == sorted(other):
        return True
    shorter, longer = sorted((one, other), key=len)
    return next(runs(shorter, longer), None) is not None


def _tidy(text: str) -> str:
    return " ".join(text.split())
