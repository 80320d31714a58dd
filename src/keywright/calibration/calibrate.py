"""Measure calibration: (documents, predictions, protocol) -> Calibration."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from keywright import protocols
from keywright.calibration import bootstrap, ece
from keywright.calibration.bootstrap import Interval
from keywright.calibration.ece import Bin
from keywright.calibration.perplexity import Histogram, Length, histogram
from keywright.calibration.position import SectionCounts, Sections
from keywright.calibration.sample import Columns, Confidence, Sample, Source
from keywright.calibration.tokens import TokenPosition, TokenProbabilities
from keywright.errors import KeywrightError
from keywright.evaluate import Pair
from keywright.matches import PARTS
from keywright.metric import Array
from keywright.protocol import Protocol
from keywright.types import Document, Prediction

RESAMPLES = 1000


@dataclass(frozen=True)
class PartCalibration:
    """The calibration of present, absent or all phrases; None is what cannot be computed."""

    phrases: int
    correct: int
    accuracy: float | None
    confidence: float | None
    scores: dict[str, float | None]
    intervals: dict[str, Interval]
    bins: tuple[Bin, ...]
    equal_mass_bins: tuple[Bin, ...]


@dataclass(frozen=True)
class Calibration:
    """The calibration of one set of predictions; `notes` say what was not measured, and why.

    Scores are fractions: an ECE of 0.12 is 12 points.
    """

    documents: int
    protocol: str
    signature: str
    confidence: Source
    parts: dict[str, PartCalibration]
    perplexity: dict[str, Histogram]
    tokens: dict[str, tuple[TokenPosition, ...]]
    sections: Sections
    notes: tuple[str, ...]

    def __getitem__(self, part: str) -> PartCalibration:
        return self.parts[part]


@dataclass(frozen=True)
class Gathered:
    """The result of one pass over documents and predictions; the rest is computed from it."""

    sample: Sample
    tokens: TokenProbabilities
    sections: Sections
    signature: str


class Gatherer:
    """Makes that pass, one document at a time."""

    def __init__(
        self, protocol: str | Protocol = protocols.DEFAULT, length: Length = "words"
    ) -> None:
        judge = protocols.load(protocol) if isinstance(protocol, str) else protocol
        self._signature = judge.signature()
        self._columns = Columns(judge, length)
        self._tokens = TokenProbabilities()
        self._sections = SectionCounts(judge)

    def add(
        self, document: Document, prediction: Prediction, original: Prediction | None = None
    ) -> None:
        """Add a document; `original` is the prediction before it was recalibrated."""
        self._tokens.add(self._columns.add(document, prediction, original))
        self._sections.add(document, prediction.texts)

    def gathered(self, confidence: Confidence = "auto", start: Source | None = None) -> Gathered:
        sample = self._columns.sample(confidence, start)
        return Gathered(sample, self._tokens, self._sections.total(), self._signature)


def gather(
    pairs: Iterable[Pair],
    protocol: str | Protocol = protocols.DEFAULT,
    *,
    confidence: Confidence = "auto",
    length: Length = "words",
) -> Gathered:
    gatherer = Gatherer(protocol, length)
    for document, prediction in pairs:
        gatherer.add(document, prediction)
    return gatherer.gathered(confidence)


def calibrate(
    pairs: Iterable[Pair],
    protocol: str | Protocol = protocols.DEFAULT,
    *,
    confidence: Confidence = "auto",
    length: Length = "words",
    bins: int = ece.BINS,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Calibration:
    """Measure the calibration of predictions (`evaluate.pair` makes the pairs).

    `resamples` > 0 adds 95% intervals by resampling documents.
    """
    found = gather(pairs, protocol, confidence=confidence, length=length)
    return measure(found, bins=bins, resamples=resamples, seed=seed)


def measure(
    found: Gathered, *, bins: int = ece.BINS, resamples: int = RESAMPLES, seed: int = 0
) -> Calibration:
    sample = found.sample
    if bins < 1:
        raise KeywrightError(f"the number of bins is {bins}, but it must be at least 1")
    resamples = resamples if sample.documents > 1 else 0
    return Calibration(
        documents=sample.documents,
        protocol=sample.protocol,
        signature=(f"{found.signature}|confidence:{sample.source}|kpp:{sample.length}|bins:{bins}"),
        confidence=sample.source,
        parts={
            part: measure_part(sample, sample.confidence, part, bins, resamples, seed)
            for part in PARTS
        },
        perplexity={part: histogram(_known(sample.own[sample.mask(part)])) for part in PARTS},
        tokens={part: found.tokens.part(part) for part in PARTS},
        sections=found.sections,
        notes=tuple(notes(sample)),
    )


def _known(values: Array) -> Array:
    return values[~np.isnan(values)]


def measure_part(
    sample: Sample, confidence: Array, part: str, bins: int, resamples: int, seed: int
) -> PartCalibration:
    """The calibration of one part under a `confidence` that need not be the sample's own.

    Phrases whose confidence is NaN are left out.
    """
    mask = sample.mask(part) & ~np.isnan(confidence)
    confidence, correct, document = confidence[mask], sample.correct[mask], sample.document[mask]
    width, mass = ece.equal_width(bins), ece.equal_mass(confidence, bins)
    scores: dict[str, float] = {
        "ECE": ece.ece(confidence, correct, bins),
        "MCE": ece.mce(confidence, correct, bins),
        "ACE": ece.adaptive_ece(confidence, correct, bins),
        "Brier": ece.brier(confidence, correct),
        "AUROC": ece.auroc(confidence, correct),
    }
    some = len(confidence) > 0
    intervals = {}
    if some and resamples:
        resampled = _resampled(
            sample.documents, document, confidence, correct, bins, resamples, seed
        )
        for name, values in resampled.items():
            limits = (
                bootstrap.mirrored(scores[name], values)
                if name in ece.ERRORS
                else bootstrap.percentile(values)
            )
            if limits is not None:
                intervals[name] = limits
    return PartCalibration(
        phrases=len(confidence),
        correct=int(correct.sum()),
        accuracy=float(correct.mean()) if some else None,
        confidence=float(confidence.mean()) if some else None,
        scores={
            name: None if not some or np.isnan(value) else value for name, value in scores.items()
        },
        intervals=intervals,
        bins=ece.reliability(confidence, correct, width),
        equal_mass_bins=ece.reliability(confidence, correct, mass),
    )


def _resampled(
    documents: int,
    document: ece.Indices,
    confidence: Array,
    correct: ece.Flags,
    bins: int,
    resamples: int,
    seed: int,
) -> dict[str, Array]:
    """Every measure of every resample; bins of equal mass keep the edges of the whole sample."""

    def sums(edges: Array) -> Array:
        group = document * bins + ece.bin_of(confidence, edges)
        return ece.group_sums(group, confidence, correct, documents * bins).reshape(documents, -1)

    width = sums(ece.equal_width(bins))
    mass = sums(ece.equal_mass(confidence, bins))
    squares = np.bincount(document, weights=(confidence - correct) ** 2, minlength=documents)
    counts = np.bincount(document, minlength=documents)
    level = ece.levels(confidence)
    found: dict[str, list[Array]] = {name: [] for name in ece.MEASURES}
    for weights in bootstrap.weights(documents, resamples, seed):
        binned = (weights @ width).reshape(len(weights), bins, 3)
        found["ECE"].append(ece.expected_error(binned))
        found["MCE"].append(ece.maximum_error(binned))
        found["ACE"].append(ece.expected_error((weights @ mass).reshape(len(weights), bins, 3)))
        found["Brier"].append((weights @ squares) / np.maximum(weights @ counts, 1))
        found["AUROC"].append(
            np.array([ece.weighted_auroc(level, correct, row[document]) for row in weights])
        )
    return {name: np.concatenate(values) for name, values in found.items()}


@dataclass(frozen=True)
class Recalibration:
    """The calibration of the confidence before and after recalibration."""

    before: dict[str, PartCalibration]
    after: dict[str, PartCalibration]


def recalibration(
    sample: Sample,
    probability: Array,
    *,
    bins: int = ece.BINS,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Recalibration:
    """Calibration before and after; `probability` is by curves fitted on other documents."""
    resamples = resamples if sample.documents > 1 else 0

    def parts(confidence: Array) -> dict[str, PartCalibration]:
        return {
            part: measure_part(sample, confidence, part, bins, resamples, seed) for part in PARTS
        }

    return Recalibration(parts(sample.before), parts(probability))


def notes(sample: Sample) -> Iterable[str]:
    """What is left out, and why."""
    kind = "confidence" if sample.source == "stated" else "token probabilities"
    if not len(sample):
        reason = f"no phrase has {kind}" if sample.without_confidence else "no phrase was predicted"
        yield (
            f"calibration errors, Brier score, AUROC, reliability, perplexity and token positions "
            f"are left out: {reason}"
        )
        return
    if sample.without_confidence:
        yield (
            f"{sample.without_confidence:,} of {len(sample) + sample.without_confidence:,} phrases "
            f"are left out of everything except the sections: they have no {kind}"
        )
    if sample.documents == 1:
        yield "intervals are left out: they resample documents, and there is only one"
    for part in PARTS:
        correct = sample.correct[sample.mask(part)]
        if not len(correct):
            yield f"{part} phrases are left out: none was predicted"
        elif not correct.any() or correct.all():
            how = "all of them are" if correct.any() else "none of them is"
            yield f"AUROC of {part} phrases is left out: {how} correct"
