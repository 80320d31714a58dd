"""What a protocol hands to the metrics: which predicted phrases hit which gold phrases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PARTS = ("present", "absent", "all")


class Part:
    """The present, the absent or all phrases of one document, after a protocol's filters.

    Phrases are stems joined by blanks. `hits` are the ranks (from 0) of the predictions that
    equal a target. `produced` and `unique` count the predictions before any filter, with and
    without repeats.
    """

    __slots__ = ("hits", "predictions", "produced", "targets", "unique")

    def __init__(
        self,
        predictions: list[str],
        targets: list[str],
        hits: list[int],
        produced: int,
        unique: int,
    ) -> None:
        self.predictions = predictions
        self.targets = targets
        self.hits = hits
        self.produced = produced
        self.unique = unique


class Matches:
    """One document under one protocol."""

    __slots__ = ("absent", "all", "present")

    def __init__(self, present: Part, absent: Part, everything: Part) -> None:
        self.present = present
        self.absent = absent
        self.all = everything


def hits(predictions: list[str], targets: list[str]) -> list[int]:
    """The ranks of the predictions that equal a target."""
    if not targets or not predictions:
        return []
    gold = set(targets)
    return [rank for rank, phrase in enumerate(predictions) if phrase in gold]


@dataclass(frozen=True)
class Rules:
    """How a protocol turns matches into numbers. The protocols differ in nothing else."""

    # What P@k divides by: k always (`k`), k unless nothing was predicted (`k_if_any`; the same in
    # the macro average, but a document without predictions adds nothing to the micro sum), or
    # the number of predictions where that is smaller (`predicted`).
    divide_by: Literal["k", "k_if_any", "predicted"] = "k_if_any"
    # Corpus F1: harmonic mean of macro P and macro R, or mean of the documents' F1.
    f1: Literal["of_means", "mean_of_documents"] = "of_means"
    # Over which documents scores are averaged: all, or those with a target in the part.
    average_over: Literal["all", "with_targets"] = "all"
    # The perfect ranking NDCG compares with: the hits sorted first, or every target a hit.
    ideal: Literal["hits", "targets"] = "hits"
    # AlphaNDCG as in the chan19 or the yuan20 release.
    alpha: Literal["substring", "token_sets"] = "substring"
    # Duplicate ratio of the whole corpus, or mean over documents that predict something.
    duplicates: Literal["corpus", "documents"] = "corpus"
