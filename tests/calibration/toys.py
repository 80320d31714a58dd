"""Small corpora for tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from keywright.calibration.sample import Sample
from keywright.types import Document, Prediction, ScoredPhrase


def document(text: str, *gold: str, title: str = "", id: str | None = None) -> Document:
    return Document(title=title, body=text, keyphrases=gold, tokenised=True, id=id)


def phrase(text: str, *probabilities: float) -> ScoredPhrase:
    """A phrase with the probabilities of its tokens and the number of its words."""
    logs = tuple(math.log(p) if p else -math.inf for p in probabilities)
    return ScoredPhrase(text=text, token_log_probs=logs or None, words=len(text.split()))


def prediction(*phrases: ScoredPhrase, id: str | None = None) -> Prediction:
    return Prediction(phrases=phrases, document_id=id)


def sample(
    confidence: Sequence[float] | np.ndarray,
    correct: Sequence[bool] | np.ndarray,
    document: Sequence[int] | np.ndarray | None = None,
    present: bool = True,
) -> Sample:
    """A sample of phrases of one part, by default each in its own document."""
    size = len(confidence)
    where = np.arange(size) if document is None else np.asarray(document)
    documents = int(where.max()) + 1 if size else 0
    gold = np.zeros((documents, 2))
    gold[:, 0 if present else 1] = 2.0
    values = np.asarray(confidence, dtype=float)
    return Sample(
        document=where,
        present=np.full(size, present),
        correct=np.asarray(correct, dtype=bool),
        confidence=values,
        own=values,
        before=values,
        words=np.ones(size),
        rank=np.zeros(size),
        position=np.full(size, 0.5),
        gold=gold,
        protocol="chan19",
        length="words",
        source="kpp",
        corpus="",
    )


def drawn(
    size: int, accuracy: Callable[[np.ndarray], np.ndarray], seed: int = 0, per_document: int = 5
) -> Sample:
    """Uniformly drawn confidences, correct with the probability that `accuracy` gives."""
    random = np.random.default_rng(seed)
    confidence = random.random(size)
    correct = random.random(size) < accuracy(confidence)
    return sample(confidence, correct, np.arange(size) // per_document)
