"""Keyphrase perplexity (KPP) and the confidence that is its inverse.

The equations are those of "Deep Seq2Seq Keyphrase Generation: Model Calibration and Uncertainty".
Equations 2 and 3 are the same: in a sequence of phrases as in a set of phrases, the perplexity of a
phrase follows from the conditional probabilities of its own tokens, without separators and end
marks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from keywright.errors import KeywrightError
from keywright.metric import Array
from keywright.types import ScoredPhrase

Length = Literal["words", "tokens"]
"""What a phrase's log-probability is divided by: its words (KPP-s, eq. 7) or tokens (eq. 2)."""

# In single precision, the log-probability of a certain token may be slightly above 0.
ROUNDING = 1e-4
_LARGEST_EXPONENT = 709.0


def kpp(token_log_probs: Sequence[float], words: int | None = None) -> float:
    """Keyphrase perplexity: eq. 2 (and 3), or eq. 7 (KPP-s) if the number of words is given.

    A token of probability 0 makes it infinite.
    """
    exponent = -math.fsum(token_log_probs) / (words or len(token_log_probs))
    return math.inf if exponent > _LARGEST_EXPONENT else math.exp(exponent)


def confidence(phrase: ScoredPhrase, length: Length = "words") -> float | None:
    """1/KPP, None where token probabilities are unknown.

    Where the number of words is unknown every token counts as one.
    """
    if not phrase.token_log_probs:
        return None
    _check(phrase)
    count = (phrase.words if length == "words" else None) or len(phrase.token_log_probs)
    return math.exp(min(math.fsum(phrase.token_log_probs), 0.0) / count)


def known_confidence(phrase: ScoredPhrase) -> float | None:
    """The confidence that is stated with a phrase, or 1/KPP; None if it has neither."""
    return confidence(phrase) if phrase.confidence is None else phrase.confidence


def _check(phrase: ScoredPhrase) -> None:
    for value in phrase.token_log_probs or ():
        if not value <= ROUNDING:  # NaN is not, either
            raise KeywrightError(
                f"phrase {phrase.text!r} has a token log-probability of {value}, which is not the "
                "logarithm of a probability; probabilities must be between 0 and 1"
            )


@dataclass(frozen=True)
class Histogram:
    """The distribution of perplexity (figure 1); `above` counts phrases beyond the last edge."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    above: int
    median: float | None


def histogram(confidence: Array, most: float = 5.0, bins: int = 20) -> Histogram:
    """The histogram of 1/confidence from 1, the smallest possible perplexity, to `most`."""
    edges = np.linspace(1.0, most, bins + 1)
    with np.errstate(divide="ignore"):
        perplexity = 1.0 / confidence
    counts, _ = np.histogram(np.maximum(perplexity, 1.0), edges)
    return Histogram(
        edges=tuple(edges.tolist()),
        counts=tuple(counts.tolist()),
        above=int((perplexity > most).sum()),
        median=float(np.median(perplexity)) if len(perplexity) else None,
    )
