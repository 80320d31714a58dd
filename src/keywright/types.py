"""The values that all parts exchange. This file imports no other file of keywright."""

from __future__ import annotations

import math

import msgspec


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """One text, with its gold keyphrases if they are known.

    `tokenised` means that title and body are words separated by single blanks, as in the published
    test sets; such a text is split at blanks and not tokenised again. `keyphrases` is None if the
    source has no gold keyphrases, and `()` if it says that there are none.
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
    """A predicted phrase. Unknown values are None: extractors have no token probabilities.

    `token_log_probs` are natural logarithms of the conditional probabilities of the generated
    tokens, without separators and end tokens; `words` is the number of words they form, which is
    smaller for subword models. `confidence` is the probability that the phrase is correct: after
    recalibration, or the share of a model's samples that contain it; `score` is what phrases are
    sorted by where this is neither. `recommended` is False
    for phrases beyond the number that suits the document.
    """

    text: str
    token_log_probs: tuple[float, ...] | None = None
    words: int | None = None
    confidence: float | None = None
    score: float | None = None
    recommended: bool = True

    @property
    def log_prob(self) -> float | None:
        """Log-probability of the whole phrase, None if token probabilities are unknown."""
        return None if self.token_log_probs is None else math.fsum(self.token_log_probs)


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """The phrases predicted for one document, best first."""

    phrases: tuple[ScoredPhrase, ...]
    document_id: str | None = None

    @property
    def recommended(self) -> Prediction:
        """The same without phrases beyond the number that suits the document."""
        if all(phrase.recommended for phrase in self.phrases):
            return self
        kept = tuple(phrase for phrase in self.phrases if phrase.recommended)
        return Prediction(phrases=kept, document_id=self.document_id)

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(phrase.text for phrase in self.phrases)
