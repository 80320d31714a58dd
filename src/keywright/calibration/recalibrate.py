"""Turn a confidence into the probability that a phrase is correct.

A `Recalibrator` is fitted by `fit.py`, saved as JSON, and applied at prediction time, which needs
only numpy. Present and absent phrases have separate curves.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import IO, Literal, cast

import msgspec
import numpy as np

from keywright import protocols
from keywright.calibration.entries import Entry, entries, with_words
from keywright.calibration.perplexity import Length
from keywright.calibration.sample import Features, Source, features
from keywright.errors import DataError, KeywrightError
from keywright.files import NOT_JSON, atomic_write, read_text
from keywright.metric import Array
from keywright.types import Document, Prediction

# Confidences of exactly 0 or 1 would have infinite logits.
_CERTAIN = 1e-6


def term(name: str, given: Features) -> Array:
    """A term of linear curves, as a column."""
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
    raise ValueError(f"unknown term of a curve: {name!r}")


Term = Literal[
    "bias", "logit", "log_confidence", "log_doubt",
    "length", "length_squared", "rank", "rank_squared", "position", "position_squared",
]  # fmt: skip


class Linear(msgspec.Struct, frozen=True, tag="linear"):
    """The logistic function of a weighted sum of terms.

    Outside the range seen in fitting, a term keeps its `lowest` or `highest` value: a square that
    was fitted to ten phrases per document says nothing useful about the two hundredth.
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
    """Probabilities that never fall as confidence rises; linear between the points."""

    confidences: tuple[float, ...]
    probabilities: tuple[float, ...]

    def __call__(self, given: Features) -> Array:
        return np.asarray(np.interp(given.confidence, self.confidences, self.probabilities))


Curve = Linear | Isotonic


class Recalibrator(msgspec.Struct, frozen=True, kw_only=True):
    """Curves for present and absent phrases; None for a part that had no phrase to fit on.

    `source` is the confidence it starts from, `protocol` defines phrases and presence, `length` is
    what KPP divides by, and `corpus` is a digest of the texts it was fitted on: it must not be
    evaluated on the same texts.
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
        except NOT_JSON as error:
            raise DataError(f"is not a recalibrator: {error}", path) from None
        for name, curve in (("present", found.present), ("absent", found.absent)):
            if (problem := _problem(curve)) is not None:
                raise DataError(f"is not a recalibrator: the {name} curve {problem}", path)
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
                f"the recalibrator was fitted on predictions without {part} phrases, so it has no "
                "curve for them; fit it on predictions that have some"
            )
        return found

    def probability(self, given: Features) -> float:
        """The probability that one phrase is correct."""
        return float(self.curve(bool(given.present))(given))

    def apply(self, document: Document, prediction: Prediction) -> Prediction:
        """The prediction with each phrase's `confidence` set to its probability.

        A phrase without the confidence to start from, or of a part without a curve, gets None. A
        repeated phrase gets the same probability.
        """
        judged = _protocol(self.protocol).read(document, prediction.texts)
        probabilities = {
            entry.stems: self._known_probability(entry)
            for entry in entries(document, prediction, judged, self.length)
        }
        first: dict[int, float | None] = {}  # a text may be read as several phrases
        for index, phrase in with_words(judged):
            first.setdefault(index, probabilities[phrase.stems])
        return msgspec.structs.replace(
            prediction,
            phrases=tuple(
                msgspec.structs.replace(phrase, confidence=first.get(index))
                for index, phrase in enumerate(prediction.phrases)
            ),
        )

    def _known_probability(self, entry: Entry) -> float | None:
        """None where the starting confidence or the curve is missing."""
        given = features(entry, self.source)
        curve = self.present if entry.present else self.absent
        return None if curve is None or np.isnan(given.confidence) else self.probability(given)


_protocol = cache(protocols.load)


def _problem(curve: Curve | None) -> str | None:
    """Why a curve would fail, or give values that are not probabilities."""
    if isinstance(curve, Linear):
        counts = {len(column) for column in msgspec.structs.astuple(curve)}
        if len(counts) != 1:
            return "must have as many weights and limits as terms"
    elif curve is not None:
        x, y = curve.confidences, curve.probabilities
        if not x or len(x) != len(y):
            return f"has {len(x)} confidences, but {len(y)} probabilities"
        if list(x) != sorted(x) or list(y) != sorted(y) or min(y) < 0 or max(y) > 1:
            return "has points that fall, or that are not probabilities"
    return None
