"""Measures of the ranking: MAP, NDCG, AlphaNDCG, MRR, SADR."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keywright.matches import Part, PartMatches, ScoringRules
from keywright.metric import (
    Array,
    Chunk,
    Column,
    Cutoff,
    Limit,
    MeanMeasure,
    Metric,
    Ranked,
    Targets,
    ratio,
)


def discount(rank: NDArray[np.int64]) -> Array:
    """1 / log2(rank + 1) for ranks from 1; here ranks count from 0."""
    found: Array = 1.0 / np.log2(rank + 2)
    return found


def perfect_dcg(hits: Array) -> Array:
    """The DCG of `hits` correct predictions in a row."""
    most = int(hits.max(initial=0))
    table = np.concatenate(([0.0], np.cumsum(discount(np.arange(most)))))
    found: Array = table[hits.astype(np.int64)]
    return found


@dataclass(frozen=True)
class AveragePrecision(Column):
    """The sum of the precisions at the hits within the cut-off, over the number of targets."""

    part: Part
    cutoff: Cutoff

    def compute(self, chunk: Chunk) -> Array:
        inside = chunk.hits(self.part).inside(chunk[Limit(self.part, self.cutoff)])
        return ratio(inside.sums(len(chunk)), chunk[Targets(self.part)])


@dataclass(frozen=True)
class NDCG(Column):
    part: Part
    cutoff: Cutoff
    ideal: str

    def compute(self, chunk: Chunk) -> Array:
        limit = chunk[Limit(self.part, self.cutoff)]
        hits = chunk.hits(self.part)
        inside = hits.inside(limit)
        gained = inside.sums(len(chunk), discount(inside.rank))
        if self.ideal == "hits":  # targets that were never predicted do not count
            found = np.bincount(hits.document, minlength=len(chunk)).astype(float)
            return ratio(gained, perfect_dcg(np.minimum(found, limit)))
        targets = chunk[Targets(self.part)]
        most = targets if self.cutoff.at == "M" else np.minimum(targets, limit)
        return ratio(gained, perfect_dcg(most))


def _substring_relevance(part: PartMatches) -> dict[int, list[int]]:
    """Rank -> the targets that a prediction is relevant to: those whose characters contain it."""
    targets = part.targets
    together = "\n".join(targets)  # one search shows that a prediction is in none of them
    found = {
        rank: [index for index, target in enumerate(targets) if phrase in target]
        for rank, phrase in enumerate(part.predictions)
        if phrase in together
    }
    return {rank: relevant for rank, relevant in found.items() if relevant}


def _gains(relevant: list[list[int]]) -> list[float]:
    """The gain of each prediction: each repetition of a target is worth half the previous one."""
    worth: dict[int, float] = {}
    gains = []
    for targets in relevant:
        gains.append(sum([worth.get(target, 1.0) for target in targets]))
        for target in targets:
            worth[target] = worth.get(target, 1.0) / 2
    return gains


def _ideal_order(relevant: list[list[int]]) -> list[list[int]]:
    """The predictions reordered greedily by gain; the earlier one comes first on ties."""
    left = list(relevant)
    worth: dict[int, float] = {}
    ordered = []
    while left:
        gains = [sum([worth.get(target, 1.0) for target in targets]) for targets in left]
        best = left.pop(gains.index(max(gains)))
        for target in best:
            worth[target] = worth.get(target, 1.0) / 2
        ordered.append(best)
    return ordered


def _substring_gains(chunk: Chunk, part: Part) -> tuple[Ranked, Ranked]:
    """The gains as predicted, and in the ideal order.

    Predictions that are relevant to nothing have no gain, and come last in the ideal order.
    """
    got: list[tuple[int, int, float]] = []
    ideal: list[tuple[int, int, float]] = []
    for index, document in enumerate(chunk.part(part)):
        found = _substring_relevance(document)
        if not found:
            continue
        relevant = list(found.values())
        if sum(map(len, relevant)) == len(set().union(*relevant)):
            gains = [float(len(targets)) for targets in relevant]  # no target is repeated
            best = sorted(gains, reverse=True)
        else:
            gains, best = _gains(relevant), _gains(_ideal_order(relevant))
        got += [(index, rank, gain) for rank, gain in zip(found, gains, strict=True)]
        ideal += [(index, rank, gain) for rank, gain in enumerate(best)]
    return Ranked(got), Ranked(ideal)


@dataclass(frozen=True)
class SubstringAlphaNDCG(Column):
    """AlphaNDCG of the chan19 release, alpha = 0.5."""

    part: Part
    cutoff: Cutoff

    def compute(self, chunk: Chunk) -> Array:
        got, ideal = chunk.memo(
            ("substring gains", self.part), lambda chunk: _substring_gains(chunk, self.part)
        )
        limit = chunk[Limit(self.part, self.cutoff)]
        return ratio(_dcg(got, limit, len(chunk)), _dcg(ideal, limit, len(chunk)))


def _dcg(gains: Ranked, limit: Array, documents: int) -> Array:
    inside = gains.inside(limit)
    return inside.sums(documents, inside.weight * discount(inside.rank))


def _token_set_gains(part: PartMatches) -> list[tuple[int, float]]:
    """A prediction matches a target when one's token set contains the other's."""
    targets = [set(target.split()) for target in part.targets]
    seen = [0] * len(targets)
    found = []
    for rank, phrase in enumerate(part.predictions):
        words = set(phrase.split())
        matched = [i for i, gold in enumerate(targets) if words <= gold or gold <= words]
        if matched:
            found.append((rank, 0.5 ** max(seen[i] for i in matched)))
            for i in matched:
                seen[i] += 1
    return found


def _all_token_set_gains(chunk: Chunk, part: Part) -> Ranked:
    return Ranked(
        [
            (index, rank, gain)
            for index, document in enumerate(chunk.part(part))
            for rank, gain in _token_set_gains(document)
        ]
    )


@dataclass(frozen=True)
class TokenSetAlphaNDCG(Column):
    """AlphaNDCG of the yuan20 release: at most T predictions count; T perfect ones are ideal."""

    part: Part
    cutoff: Cutoff

    def compute(self, chunk: Chunk) -> Array:
        gains = chunk.memo(
            ("token set gains", self.part), lambda chunk: _all_token_set_gains(chunk, self.part)
        )
        targets = chunk[Targets(self.part)]
        limit = np.minimum(chunk[Limit(self.part, self.cutoff)], targets)
        return ratio(_dcg(gains, limit, len(chunk)), perfect_dcg(targets))


@dataclass(frozen=True)
class ReciprocalRank(Column):
    """The mean of 1 / rank over the hits of the document."""

    part: Part

    def compute(self, chunk: Chunk) -> Array:
        hits = chunk.hits(self.part)
        found = np.bincount(hits.document, minlength=len(chunk)).astype(float)
        return ratio(hits.sums(len(chunk), 1.0 / (hits.rank + 1)), found)


@dataclass(frozen=True)
class DiscountedRecall(Column):
    """SADR: a hit counts 1 up to rank T and 1 / log2(rank - T + 2) beyond, divided by T."""

    part: Part

    def compute(self, chunk: Chunk) -> Array:
        hits = chunk.hits(self.part)
        targets = chunk[Targets(self.part)]
        beyond = np.maximum(hits.rank + 1 - targets[hits.document], 0)
        return ratio(hits.sums(len(chunk), 1.0 / np.log2(beyond + 2)), targets)


def _at(metric: Metric) -> Cutoff:
    return metric.cutoff or Cutoff("M")


class MAPMeasure(MeanMeasure):
    def column(self, metric: Metric, rules: ScoringRules) -> Column:
        return AveragePrecision(metric.part, _at(metric))


class NDCGMeasure(MeanMeasure):
    def column(self, metric: Metric, rules: ScoringRules) -> Column:
        return NDCG(metric.part, _at(metric), rules.ideal)


class AlphaNDCGMeasure(MeanMeasure):
    def column(self, metric: Metric, rules: ScoringRules) -> Column:
        kind = SubstringAlphaNDCG if rules.alpha == "substring" else TokenSetAlphaNDCG
        return kind(metric.part, _at(metric))


class MRRMeasure(MeanMeasure):
    def column(self, metric: Metric, rules: ScoringRules) -> Column:
        return ReciprocalRank(metric.part)


class SADRMeasure(MeanMeasure):
    def column(self, metric: Metric, rules: ScoringRules) -> Column:
        return DiscountedRecall(metric.part)


MEASURES = (
    MAPMeasure(
        "MAP",
        "mean over documents of the precisions at the hits, divided by the number of gold phrases",
        needs_cutoff=True,
        order=20,
    ),
    NDCGMeasure(
        "NDCG",
        "discounted gain over that of a perfect ranking: of the hits (chan19, kpdrop, exhird, "
        "unikp, fg) or of all gold phrases (yuan20)",
        needs_cutoff=True,
        order=21,
    ),
    AlphaNDCGMeasure(
        "AlphaNDCG",
        "NDCG with gains that halve when a gold phrase is covered again, alpha = 0.5",
        needs_cutoff=True,
        order=22,
    ),
    MRRMeasure("MRR", "mean of 1/rank over the hits", order=23, protocols=("yuan20",)),
    SADRMeasure(
        "SADR",
        "recall in which hits beyond as many ranks as there are gold phrases are discounted",
        order=23,
        protocols=("yuan20",),
    ),
)
