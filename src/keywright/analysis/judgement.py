"""Do scores agree with people's ratings, and people with each other?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from keywright import protocols
from keywright.analysis.correlation import (
    COEFFICIENTS,
    Design,
    Estimate,
    Indices,
    agree,
    correlate,
)
from keywright.analysis.ratings import Item, Ratings, Scores, require_items
from keywright.analysis.significance import counted
from keywright.analysis.systems import Source, Watch, unwatched
from keywright.errors import DataError, KeywrightError, nearest
from keywright.evaluate import Match, Pair, Plan, matched_rows, pair, resolve
from keywright.metric import Array
from keywright.protocol import Protocol
from keywright.types import Document

METRICS = ("all.F1@5", "all.F1@M", "all.F1@O", "present.F1@M", "absent.F1@M")
"""People rate all phrases of a document together, so most of the defaults do so too."""
FEWEST = 3
# Values that differ in their last bits only are tied.
_DIGITS = 12


@dataclass(frozen=True)
class Correlation:
    """Two sets of values of the same items.

    `a` is a score or an annotator, `b` an annotator, or None for the mean of all annotators.
    """

    a: str
    b: str | None
    items: int
    coefficients: dict[str, Estimate]


@dataclass(frozen=True)
class Agreement:
    """Annotators among themselves: the correlations of each pair, and Krippendorff's alpha over the
    `items` that at least two of them rated."""

    pairwise: tuple[Correlation, ...]
    items: int
    alpha: dict[str, Estimate]


@dataclass(frozen=True)
class Judgement:
    """Scores against ratings: for every score the mean of the annotators, then each annotator if
    there are several; `agreement` only then."""

    documents: int
    items: int
    annotators: tuple[str, ...]
    correlations: tuple[Correlation, ...]
    agreement: Agreement | None
    design: Design
    notes: tuple[str, ...]
    """Why some coefficients are not defined."""

    def between(self, score: str, annotator: str | None = None) -> Correlation:
        """A score and an annotator, or the mean of all of them."""
        for found in self.correlations:
            if (found.a, found.b) == (score, annotator):
                return found
        raise KeyError((score, annotator))


@dataclass(frozen=True)
class _Values:
    """Values of items, what to call them in a sentence, and their name in the result."""

    name: str | None
    called: str
    values: Mapping[Item, float]

    def of(self, items: Iterable[Item]) -> Array:
        """[items]"""
        return np.array([_rounded(self.values[item]) for item in items])


def judge(ratings: Ratings, scores: Scores, design: Design | None = None) -> Judgement:
    """Correlate scores with ratings. An item without a value of a score is left out for it."""
    design = design or Design()
    _check(ratings)
    raters = [_Values(None, "the mean ratings", ratings.means())]
    people = [
        _Values(name, f"the ratings of {name!r}", ratings.of(name)) for name in ratings.annotators
    ]
    several = len(people) > 1
    raters += people if several else []
    notes: dict[str, None] = {}
    correlations = [
        _correlation(_Values(name, f"the values of {name!r}", values), rater, design, notes)
        for name, values in scores.items()
        for rater in raters
    ]
    if all(found.coefficients["pearson"].value is None for found in correlations):
        raise KeywrightError(f"no correlation is defined: {next(iter(notes))}")
    return Judgement(
        documents=len({item.document for item in ratings.items}),
        items=len(ratings.items),
        annotators=tuple(ratings.annotators),
        correlations=tuple(correlations),
        agreement=_agreement(ratings, people, design, notes) if several else None,
        design=design,
        notes=tuple(notes),
    )


def _check(ratings: Ratings) -> None:
    means = ratings.means()
    if len(means) < FEWEST:
        raise DataError(
            f"has ratings of {len(means)} items; a correlation needs at least {FEWEST}",
            ratings.path,
        )
    if len(set(map(_rounded, means.values()))) == 1:
        raise DataError(
            f"gives all {len(means)} items the same rating ({next(iter(means.values())):g}), "
            "so no correlation is defined",
            ratings.path,
            ratings.ratings[0].line,
        )


def _correlation(a: _Values, b: _Values, design: Design, notes: dict[str, None]) -> Correlation:
    """Where it is not defined, a note says why."""
    items = [item for item in b.values if item in a.values]
    reason = _undefined(a, b, items)
    if reason is not None:
        notes[reason] = None
        found = dict.fromkeys(COEFFICIENTS, Estimate(None))
    else:
        found = correlate(a.of(items), b.of(items), _documents(items), design)
    return Correlation(str(a.name), b.name, len(items), found)


def _undefined(a: _Values, b: _Values, items: list[Item]) -> str | None:
    """Why there is no correlation of two sets of values, which have these items in common."""
    if len(items) < FEWEST:
        return f"{a.called} and {b.called} have {len(items)} items in common; {FEWEST} are needed"
    for side in (a, b):
        values = side.of(items)
        if len(set(values.tolist())) == 1:
            where = "" if len(items) == len(side.values) else " for the items in common"
            return (
                f"{side.called} are all {values[0]:g}{where}, so their correlations are not defined"
            )
    return None


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _documents(items: Iterable[Item]) -> Indices:
    """The document of each item as a number, [items]."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(item.document, len(numbers)) for item in items])


def _agreement(
    ratings: Ratings, people: list[_Values], design: Design, notes: dict[str, None]
) -> Agreement:
    table = ratings.table()
    alpha = agree(table, _documents(ratings.items), design)
    if alpha["interval"].value is None:
        notes[
            "Krippendorff's alpha is not defined: no item was rated by two annotators, or all "
            "ratings of such items are the same"
        ] = None
    return Agreement(
        pairwise=tuple(_correlation(a, b, design, notes) for a, b in combinations(people, 2)),
        items=int(((~np.isnan(table)).sum(axis=1) > 1).sum()),
        alpha=alpha,
    )


def metric_scores(
    documents: str | Path | Iterable[Document],
    systems: Mapping[str, Source],
    ratings: Ratings,
    *,
    metrics: Iterable[str] = METRICS,
    protocol: str | Protocol = protocols.DEFAULT,
    match: Match = "auto",
    watch: Watch = unwatched,
) -> dict[str, dict[Item, float]]:
    """Metrics of the rated predictions, one by one.

    A document is named by its id, or by its number from 1 where it has none. Documents that a
    metric leaves out of its average have no value of it.
    """
    rules = protocols.load(protocol) if isinstance(protocol, str) else protocol
    plan = Plan(rules, resolve(metrics, rules))
    _check_systems(ratings, list(systems))
    if not isinstance(documents, str | Path):
        documents = tuple(documents)
    rated: dict[Item, Pair] = {}
    for name, source in systems.items():
        system = name if ratings.has_systems else None
        pairs = watch(pair(documents, source, match), f"Reading {name}")
        rated |= _rated(pairs, system, set(ratings.items))
    where = documents if isinstance(documents, str | Path) else "the documents"
    require_items(ratings, rated, f"is not in {where}")
    return _scored(plan, rated)


def _rated(pairs: Iterable[Pair], system: str | None, wanted: set[Item]) -> dict[Item, Pair]:
    found = {}
    for number, (document, prediction) in enumerate(pairs, 1):
        item = Item(document.id or str(number), system)
        if item in wanted:
            found[item] = document, prediction
    return found


def _scored(plan: Plan, rated: Mapping[Item, Pair]) -> dict[str, dict[Item, float]]:
    rows = np.concatenate([rows for _, rows in matched_rows(plan, rated.values())])
    values = plan.scores(rows)
    return {
        str(metric): {
            item: float(value)
            for item, value, counts in zip(
                rated,
                values[str(metric)],
                counted(plan, metric, rows),
                strict=True,
            )
            if counts
        }
        for metric in plan.metrics
    }


def _check_systems(ratings: Ratings, systems: list[str]) -> None:
    if not ratings.has_systems:
        if len(systems) > 1:
            raise DataError(
                f"has no column 'system', so its ratings are of one system; there are "
                f"predictions of {len(systems)}",
                ratings.path,
                1,
            )
        return
    for rating in ratings.ratings:
        if rating.item.system not in systems:
            raise DataError(
                f"there are no predictions of system {rating.item.system!r}"
                f"{nearest(str(rating.item.system), systems)} (--names renames them)",
                ratings.path,
                rating.line,
            )
