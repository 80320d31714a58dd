"""The values that cross borders. This file imports nothing of ours."""

from __future__ import annotations

import math

import msgspec


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """One text, with its gold keyphrases where they are known.

    `tokenised` says that title and body are words separated by single blanks, as the field's
    prepared test sets are; such a text is split at blanks and never segmented again. `keyphrases`
    is None when the source has no gold at all, and `()` when it says that there is none.
    """

    title: str
    body: str
    id: str | None = None
    keyphrases: tuple[str, ...] | None = None
    tokenised: bool = False

    @property
    def text(self) -> str:
        return f"{self.title}\n{self.body}" if self.title else self.body


class ScoredPhrase(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A predicted phrase. What is not known is None: extractors have no token probabilities.

    `token_log_probs` are natural logarithms of the conditional probabilities of the generated
    tokens, separators and end marks left out; `words` is the number of words they spell, which
    differs from their number for subword models. `confidence` is the probability that the phrase
    is right, after recalibration; `score` is whatever a ranker without probabilities sorts by.
    """

    text: str
    token_log_probs: tuple[float, ...] | None = None
    words: int | None = None
    confidence: float | None = None
    score: float | None = None

    @property
    def log_prob(self) -> float | None:
        """Log-probability of the whole phrase, None where token probabilities are unknown."""
        return None if self.token_log_probs is None else math.fsum(self.token_log_probs)


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """The phrases predicted for one document, best first."""

    phrases: tuple[ScoredPhrase, ...]
    document_id: str | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(phrase.text for phrase in self.phrases)
