"""The phrases of a long document, judged as a whole.

A model with calibrated probabilities sees one window at a time, and every window has a best phrase.
How often a phrase occurs in the document, how early, and over how much of it, tells the phrases of
the document from those of a window. `bench/long.py` fits the weights and measures them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from keywright.generation.windows import combine
from keywright.ranking.model import LEAST, best_count
from keywright.text.reading import Characters, Reading, literal_stems
from keywright.types import Document, Prediction, ScoredPhrase


class Evidence(NamedTuple):
    """What is known about a phrase of a long document; also the weights of these values."""

    log_odds: float  # the highest of any window
    rate: float  # log of the occurrences per thousand words
    first: float  # log of the percentage of the text before the first occurrence, plus 1
    spread: float  # the share of the text between the first and the last occurrence
    bias: float = 1.0


WEIGHTS = Evidence(log_odds=0.841, rate=0.304, first=-0.379, spread=0.967, bias=-0.860)


def as_a_whole(
    document: Document, predictions: Sequence[Prediction], recount: bool = True
) -> Prediction:
    """One prediction from those of a document's windows, best first.

    A present phrase is judged by its evidence. The probability of an absent one is the mean over
    all windows. With `recount` the recommended phrases are chosen anew, else those of any window
    are kept.
    """
    if len(predictions) == 1:
        return predictions[0]
    reading = Reading.of(document)
    totals = _totals(predictions)
    present: list[ScoredPhrase] = []
    absent: list[ScoredPhrase] = []
    for phrase in combine(document, predictions).phrases:
        places = reading.places(literal_stems(phrase.text))
        if places:
            judged = probability(evidence(reading, places, phrase.confidence or 0.0))
        else:
            judged = totals[phrase.text.lower()] / len(predictions)
        kind = present if places else absent
        kind.append(msgspec.structs.replace(phrase, confidence=judged))
    every = [
        phrase for kind in (present, absent) for phrase in (_recounted(kind) if recount else kind)
    ]
    every.sort(key=_confidence)
    return Prediction(document_id=document.id, phrases=tuple(every))


def evidence(reading: Reading, places: Sequence[Characters], highest: float) -> Evidence:
    """`highest` is the highest probability of any window."""
    body = [start for start, _ in places if start >= reading.title_end]
    size = max(1, len(reading.text))
    first = (body[0] if body else size) - reading.title_end
    return Evidence(
        log_odds=_log_odds(highest),
        rate=float(np.log(1000 * len(places) / max(1, len(reading.words)))),
        first=float(np.log1p(100 * first / size)),
        spread=(body[-1] - body[0]) / size if body else 0.0,
    )


def probability(known: Evidence, weights: Evidence = WEIGHTS) -> float:
    total = sum(weight * value for weight, value in zip(weights, known, strict=True))
    return float(1 / (1 + np.exp(-total)))


def _log_odds(probability: float) -> float:
    safe = min(max(probability, LEAST), 1 - LEAST)
    return float(np.log(safe) - np.log1p(-safe))


def _totals(predictions: Iterable[Prediction]) -> dict[str, float]:
    """The sum of a phrase's probabilities over windows."""
    totals: dict[str, float] = {}
    for prediction in predictions:
        for phrase in prediction.phrases:
            name = phrase.text.lower()
            totals[name] = totals.get(name, 0.0) + (phrase.confidence or 0.0)
    return totals


def _recounted(phrases: Sequence[ScoredPhrase]) -> list[ScoredPhrase]:
    best_first = sorted(phrases, key=_confidence)
    found: NDArray[np.float64] = np.array([phrase.confidence or 0.0 for phrase in best_first])
    count = best_count(found)
    return [
        msgspec.structs.replace(phrase, recommended=rank < count)
        for rank, phrase in enumerate(best_first)
    ]


def _confidence(phrase: ScoredPhrase) -> float:
    return -(phrase.confidence or 0.0)
