"""Is the difference between two systems significant? Paired tests on any metric.

Both tests work on the rows of per-document sums that `keywright evaluate` scores, so they test
exactly the same numbers, both macro and micro averages.

* Paired bootstrap: draw as many documents as there are, with replacement, m times. With d the
  difference on the corpus and d* that on a resample, p = (b + 1) / (m + 1), where b counts the
  resamples with |d* - d| >= |d|: resampled differences, shifted to a true difference of zero.
* Paired permutation (approximate randomisation): swap the two systems' outputs on every document
  with probability 1/2, m times; b counts the permutations with |d*| >= |d|, and p is as before. If
  there are at most m + 1 ways to swap, each is taken once and p is exact.

Both are two-sided (Yeh 2000, Dror et al. 2018).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from keywright import protocols
from keywright.analysis.classical import Classical, classical_test
from keywright.analysis.resampling import bootstrap_sums, swapped_sums
from keywright.analysis.systems import Source, Watch, unwatched
from keywright.errors import KeywrightError, UnknownNameError
from keywright.evaluate import Match, Pair, Plan, has_gold, matched_rows, pair, resolve
from keywright.metric import Array, Metric, population
from keywright.protocol import Protocol
from keywright.types import Document

Test = Literal["bootstrap", "permutation", "classical"]
Family = Literal["all", "metric", "pair"]
Rows = Mapping[str, Array]
"""The [documents, columns] of a plan for each system."""

METRICS = tuple(f"{part}.F1@{cut}" for part in ("present", "absent") for cut in ("5", "M", "O"))
"""The same measures for present and absent phrases, as Thomas and Vajjala (2024) recommend."""
STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
# Sums in a different order differ in their last bits, which must not break a tie.
TIE = 1e-10


@dataclass(frozen=True)
class Design:
    """How systems are compared.

    Every system is compared with `baseline`, or all pairs are. p-values are corrected by Holm's
    method within a `family`: all tests, those of a metric, or those of a pair of systems.
    """

    tests: tuple[Test, ...] = ("bootstrap", "permutation")
    resamples: int = 10_000
    baseline: str | None = None
    correction: Literal["holm", "none"] = "holm"
    family: Family = "all"
    share: float = 0.95
    seed: int = 0


@dataclass(frozen=True)
class Difference:
    """Two systems on one metric: a minus b, with a bootstrap interval.

    `effect` is the difference in standard deviations of a document's contribution to it: the
    bootstrap's standard error times the square root of the number of documents (Cohen's d for a
    metric that is a mean over documents); None if the documents do not vary. `higher`, `equal` and
    `lower` count the documents on which a scores higher than b, the same, or lower.
    """

    metric: str
    a: str
    b: str
    score_a: float
    score_b: float
    difference: float
    interval: tuple[float, float]
    effect: float | None
    effect_interval: tuple[float, float] | None
    higher: int
    equal: int
    lower: int
    p: dict[str, float]
    corrected: dict[str, float] = field(default_factory=dict)
    exact: bool = False
    """Whether the permutation test took every way to swap once."""
    classical: Classical | None = None

    @property
    def better(self) -> str | None:
        """The better system; None if they are equal, or if neither direction is better."""
        better = Metric.parse(self.metric).definition.better
        if self.difference == 0 or better == "neither":
            return None
        return self.a if (self.difference > 0) == (better == "higher") else self.b

    @property
    def worst_p(self) -> float:
        """The largest p-value of all tests, corrected if they were."""
        return max((self.corrected or self.p).values())

    @property
    def stars(self) -> str:
        """The mark of significance, by the largest p-value."""
        return next((stars for level, stars in STARS if self.worst_p < level), "")


@dataclass(frozen=True)
class Comparison:
    """Several systems, their scores, and every difference that was tested."""

    protocol: str
    signature: str
    documents: int
    scores: dict[str, dict[str, float]]
    """By system and metric, as `keywright evaluate` computes them."""
    differences: tuple[Difference, ...]
    design: Design

    def between(self, a: str, b: str, metric: str) -> Difference:
        """One difference; the systems must be in the order in which they were compared."""
        for found in self.differences:
            if (found.a, found.b, found.metric) == (a, b, metric):
                return found
        raise KeyError((a, b, metric))


def compare(
    documents: str | Path | Iterable[Document],
    systems: Mapping[str, Source],
    *,
    metrics: Iterable[str] = METRICS,
    protocol: str | Protocol = protocols.DEFAULT,
    design: Design | None = None,
    match: Match = "auto",
    watch: Watch = unwatched,
) -> Comparison:
    """Score the systems on the same documents and test their differences."""
    design = design or Design()
    judge = protocols.load(protocol) if isinstance(protocol, str) else protocol
    plan = Plan(judge, resolve(metrics, judge))
    _check_systems(list(systems), design)
    if not isinstance(documents, str | Path):
        documents = tuple(documents)
    rows = {
        name: _system_rows(plan, watch(pair(documents, source, match), f"Matching {name}"))
        for name, source in systems.items()
    }
    return compare_rows(plan, rows, design)


def compare_rows(plan: Plan, rows: Rows, design: Design) -> Comparison:
    """The same for systems whose documents are already matched."""
    names = list(rows)
    _check_systems(names, design)
    documents = len(rows[names[0]])
    if documents < 2:
        raise KeywrightError(
            "comparing systems needs at least 2 documents, but there is only 1: one document says "
            "nothing about chance"
        )
    scores = {name: _values(plan.scores(rows[name].sum(axis=0))) for name in names}
    resampled = _resampled_scores(plan, rows, design)
    differences = [
        difference
        for a, b in pairs(names, design.baseline)
        for difference in _differences(plan, rows, scores, resampled, (a, b), design)
    ]
    return Comparison(
        protocol=str(plan.protocol),
        signature=plan.protocol.signature(),
        documents=documents,
        scores=scores,
        differences=tuple(_corrected(differences, design)),
        design=design,
    )


def pairs(names: Sequence[str], baseline: str | None = None) -> list[tuple[str, str]]:
    """All pairs of systems, or every other system with the baseline."""
    if baseline is None:
        return list(combinations(names, 2))
    return [(name, baseline) for name in names if name != baseline]


def holm(p: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p-values.

    The k-th smallest of n is multiplied by n - k + 1; none may be smaller than the previous one.
    """
    adjusted = [0.0] * len(p)
    running = 0.0
    for place, index in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        running = max(running, min(1.0, (len(p) - place) * p[index]))
        adjusted[index] = running
    return adjusted


def bootstrap_p(difference: float, resampled: Array) -> float:
    """(b + 1) / (m + 1), where b resamples have a shifted difference as large as the observed."""
    beyond = np.abs(resampled - difference) >= abs(difference) - TIE
    return float((beyond.sum() + 1) / (len(resampled) + 1))


def permutation_p(difference: float, permuted: Array, exact: bool) -> float:
    """The same for permutations; all ways to swap include the observed one, so nothing is added."""
    beyond = int((np.abs(permuted) >= abs(difference) - TIE).sum())
    return beyond / len(permuted) if exact else (beyond + 1) / (len(permuted) + 1)


def _check_systems(names: Sequence[str], design: Design) -> None:
    if len(names) < 2:
        raise KeywrightError(f"comparing needs at least 2 systems, but there is only {len(names)}")
    if design.baseline is not None and design.baseline not in names:
        raise UnknownNameError("baseline", design.baseline, names)
    if design.resamples < 1:
        raise KeywrightError(f"the number of resamples must be at least 1, not {design.resamples}")


def _system_rows(plan: Plan, pairs: Iterable[Pair]) -> Array:
    chunks = []
    any_gold = False
    for batch, rows in matched_rows(plan, pairs):
        any_gold = any_gold or any(map(has_gold, batch))
        chunks.append(rows)
    if not any_gold:
        raise KeywrightError(
            "none of the documents has a gold keyphrase, so there is nothing to score against; "
            "check the file of gold keyphrases"
        )
    return np.concatenate(chunks)


def _values(scores: Mapping[str, Array]) -> dict[str, float]:
    return {name: float(value) for name, value in scores.items()}


def _resampled_scores(plan: Plan, rows: Rows, design: Design) -> dict[str, dict[str, Array]]:
    """[resamples] by system and metric; all systems share the resamples, so they stay paired."""
    stacked = np.concatenate(list(rows.values()), axis=1)
    sums = bootstrap_sums(stacked, design.resamples, design.seed)
    parts = np.split(sums, len(rows), axis=1)
    return {name: plan.scores(part) for name, part in zip(rows, parts, strict=True)}


@dataclass(frozen=True)
class _Evidence:
    """What the tests of two systems on one metric are based on."""

    metric: Metric
    score_a: float
    score_b: float
    resampled: Array  # differences, [resamples]
    permuted: Array | None  # differences, [permutations]
    exact: bool
    documents_a: Array  # scores of the documents that count, [documents]
    documents_b: Array

    @property
    def difference(self) -> float:
        return self.score_a - self.score_b


def _differences(
    plan: Plan,
    rows: Rows,
    scores: Mapping[str, Mapping[str, float]],
    resampled: Mapping[str, Mapping[str, Array]],
    systems: tuple[str, str],
    design: Design,
) -> Iterator[Difference]:
    a, b = systems
    permuted: dict[str, Array] = {}
    exact = False
    if "permutation" in design.tests:
        swapped = swapped_sums(rows[a], rows[b], design.resamples, design.seed)
        exact = swapped.exact
        scores_a, scores_b = plan.scores(swapped.a), plan.scores(swapped.b)
        permuted = {name: scores_a[name] - scores_b[name] for name in scores_a}
    documents_a, documents_b = plan.scores(rows[a]), plan.scores(rows[b])
    for metric in plan.metrics:
        name = str(metric)
        counts = counted(plan, metric, rows[a])
        evidence = _Evidence(
            metric,
            scores[a][name],
            scores[b][name],
            resampled[a][name] - resampled[b][name],
            permuted.get(name),
            exact,
            documents_a[name][counts],
            documents_b[name][counts],
        )
        yield _judged(evidence, a, b, len(rows[a]), design)


def _judged(evidence: _Evidence, a: str, b: str, documents: int, design: Design) -> Difference:
    difference = evidence.difference
    low, high = _interval(evidence.resampled, design.share)
    scale = float(np.std(evidence.resampled)) * math.sqrt(documents)
    p: dict[str, float] = {}
    textbook = None
    if "bootstrap" in design.tests:
        p["bootstrap"] = bootstrap_p(difference, evidence.resampled)
    if evidence.permuted is not None:
        p["permutation"] = permutation_p(difference, evidence.permuted, evidence.exact)
    if "classical" in design.tests:
        textbook = classical_test(evidence.documents_a, evidence.documents_b)
        p["classical"] = textbook.p
    return Difference(
        metric=str(evidence.metric),
        a=a,
        b=b,
        score_a=evidence.score_a,
        score_b=evidence.score_b,
        difference=difference,
        interval=(low, high),
        effect=difference / scale if scale else None,
        effect_interval=(low / scale, high / scale) if scale else None,
        higher=int((evidence.documents_a > evidence.documents_b).sum()),
        equal=int((evidence.documents_a == evidence.documents_b).sum()),
        lower=int((evidence.documents_a < evidence.documents_b).sum()),
        p=p,
        exact=evidence.exact,
        classical=textbook,
    )


def _interval(values: Array, share: float) -> tuple[float, float]:
    tail = (1 - share) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def counted(plan: Plan, metric: Metric, rows: Array) -> NDArray[np.bool_]:
    """Which documents the metric is averaged over, [documents]."""
    rules = plan.protocol.rules
    column = population(metric.part, rules)
    if column not in metric.definition.columns(metric, rules):
        return np.ones(len(rows), dtype=bool)
    found: NDArray[np.bool_] = rows[:, plan.columns.index(column)] > 0
    return found


def _corrected(differences: Sequence[Difference], design: Design) -> Iterator[Difference]:
    if design.correction == "none":
        yield from differences
        return
    families: dict[object, list[int]] = {}
    for index, difference in enumerate(differences):
        families.setdefault(_family(difference, design.family), []).append(index)
    corrected: list[dict[str, float]] = [{} for _ in differences]
    for members in families.values():
        for test in design.tests:
            adjusted = holm([differences[index].p[test] for index in members])
            for index, p in zip(members, adjusted, strict=True):
                corrected[index][test] = p
    for difference, found in zip(differences, corrected, strict=True):
        yield replace(difference, corrected=found)


def _family(difference: Difference, family: Family) -> object:
    match family:
        case "all":
            return None
        case "metric":
            return difference.metric
        case "pair":
            return difference.a, difference.b
