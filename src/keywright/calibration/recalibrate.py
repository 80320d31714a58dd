"""Turn a confidence into the probability that a phrase is right.

A `Recalibrator` is fitted by `fit.py`, saved as JSON, and applied at prediction time, which needs
nothing but numpy: present and absent phrases each have a curve of their own.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import IO, Literal, cast

import msgspec
import numpy as np

from keywright import protocols
from keywright.calibration.entries import Splitter
from keywright.calibration.perplexity import Length
from keywright.calibration.sample import Features, Source, features
from keywright.errors import DataError, KeywrightError
from keywright.files import atomic_write, read_text
from keywright.metrics._base import Array
from keywright.types import Document, Prediction, ScoredPhrase

# Confidences of exactly 0 or 1 would have infinite logits.
_CERTAIN = 1e-6


def term(name: str, given: Features) -> Array:
    """A column that curves are linear in."""
    if name.endswith("_squared"):
        return term(name.removesuffix("_squared"), given) ** 2
    sure: Array = np.clip(np.asarray(given.confidence), _CERTAIN, 1 - _CERTAIN)
    match name:
        case "bias":
            return np.ones_like(sure)
        case "logit":
            return np.log(sure) - np.log1p(-sure)
        case "log_confidence":
            return np.log(sure)
        case "log_doubt":
            return -np.log1p(-sure)
        case "length":
            return np.log(np.asarray(given.words, dtype=np.float64))
        case "rank":
            return np.log1p(np.asarray(given.rank, dtype=np.float64))
        case "position":
            return np.asarray(given.position, dtype=np.float64)
    raise ValueError(f"no such term of a curve: {name!r}")


Term = Literal[
    "bias", "logit", "log_confidence", "log_doubt",
    "length", "length_squared", "rank", "rank_squared", "position", "position_squared",
]  # fmt: skip


class Linear(msgspec.Struct, frozen=True, tag="linear"):
    """The logistic function of a weighted sum of terms.

    Beyond what was seen when it was fitted, a term stays at its `lowest` or `highest`: a square
    that was fitted to ten phrases a document says nothing sensible about the two hundredth.
    """

    terms: tuple[Term, ...]
    weights: tuple[float, ...]
    lowest: tuple[float, ...]
    highest: tuple[float, ...]

    def __call__(self, given: Features) -> Array:
        total: Array = np.zeros(np.shape(given.confidence))
        fitted = zip(self.terms, self.weights, self.lowest, self.highest, strict=True)
        for name, weight, low, high in fitted:
            total = total + weight * np.clip(term(name, given), low, high)
        return np.asarray(0.5 + 0.5 * np.tanh(0.5 * total))  # unlike exp, tanh never overflows


class Isotonic(msgspec.Struct, frozen=True, tag="isotonic"):
    """Probabilities that never fall as confidence rises; between the points, straight lines."""

    confidences: tuple[float, ...]
    probabilities: tuple[float, ...]

    def __call__(self, given: Features) -> Array:
        return np.asarray(np.interp(given.confidence, self.confidences, self.probabilities))


Curve = Linear | Isotonic


class Recalibrator(msgspec.Struct, frozen=True, kw_only=True):
    """Curves for present and absent phrases; None for a part that had no phrase to fit on.

    `source` says which confidence it starts from, `protocol` what a phrase and what presence is,
    `length` what KPP divides by, and `corpus` which texts it was fitted on: it must not be judged
    by the same.
    """

    method: str
    present: Curve | None
    absent: Curve | None
    source: Source = "kpp"
    protocol: str = protocols.DEFAULT
    length: Length = "words"
    corpus: str = ""
    documents: int = 0
    phrases: int = 0
    format: Literal["keywright-recalibrator-1"] = "keywright-recalibrator-1"

    @classmethod
    def from_json(cls, source: bytes | str | Path) -> Recalibrator:
        """From a file (a path) or from the JSON itself (bytes)."""
        path = None if isinstance(source, bytes) else source
        text = source if isinstance(source, bytes) else read_text(source).encode()
        try:
            found = msgspec.json.decode(text, type=cls)
        except msgspec.DecodeError as error:
            raise DataError(f"is no recalibrator: {error}", path) from None
        for name, curve in (("present", found.present), ("absent", found.absent)):
            if (problem := _problem(curve)) is not None:
                raise DataError(f"is no recalibrator: the {name} curve {problem}", path)
        return found

    def to_json(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"

    def save(self, path: str | Path) -> None:
        with atomic_write(path, "wb") as file:
            cast(IO[bytes], file).write(self.to_json())

    def curve(self, present: bool) -> Curve:
        found = self.present if present else self.absent
        if found is None:
            part = "present" if present else "absent"
            raise KeywrightError(
                f"the recalibrator was fitted on predictions without {part} phrases, so it says "
                "nothing about them; fit it on predictions that have some"
            )
        return found

    def probability(self, given: Features) -> float:
        """The probability that one phrase is right."""
        return float(self.curve(bool(given.present))(given))

    def apply(self, document: Document, prediction: Prediction) -> Prediction:
        """The prediction with each phrase's `confidence` set to its probability.

        A phrase without the confidence that it starts from, or of a part that was not fitted, gets
        None. A repeat is the same phrase, so it gets the same.
        """
        splitter = _splitter(self.protocol)
        entries = splitter.entries(document, prediction, self.length)
        known = {stems: features(entry, self.source) for stems, entry in entries.items()}
        probabilities = {
            stems: self.probability(given)
            for stems, given in known.items()
            if not np.isnan(given.confidence) and (self.present if given.present else self.absent)
        }

        def judged(phrase: ScoredPhrase) -> ScoredPhrase:
            stems = splitter.stems(phrase.text, document.tokenised)
            return msgspec.structs.replace(
                phrase, confidence=probabilities.get(stems[0]) if stems else None
            )

        return msgspec.structs.replace(
            prediction, phrases=tuple(judged(phrase) for phrase in prediction.phrases)
        )


@cache
def _splitter(protocol: str) -> Splitter:
    return Splitter(protocols.load(protocol))


def _problem(curve: Curve | None) -> str | None:
    """What would make a curve fail, or give what is no probability, when it is applied."""
    if isinstance(curve, Linear):
        counts = {len(column) for column in msgspec.structs.astuple(curve)}
        if len(counts) != 1:
            return "has not as many weights and limits as terms"
    elif curve is not None:
        x, y = curve.confidences, curve.probabilities
        if not x or len(x) != len(y):
            return f"has {len(x)} confidences, but {len(y)} probabilities"
        if list(x) != sorted(x) or list(y) != sorted(y) or min(y) < 0 or max(y) > 1:
            return "has points that fall, or that are no probabilities"
    return None
