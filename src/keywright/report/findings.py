"""The contents of a report: every analysis of the systems, as values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from keywright import protocols
from keywright.analysis import averages, counts, distribution, overlap
from keywright.analysis.averages import Averages, Cutoffs
from keywright.analysis.counts import Numbers
from keywright.analysis.distribution import Distribution
from keywright.analysis.diversity import Diversity, diversity
from keywright.analysis.overlap import Agreed, Complement, MissingGold, Overlap
from keywright.analysis.resampling import bootstrap_sums
from keywright.analysis.significance import METRICS, Comparison, Design, compare_rows
from keywright.analysis.systems import Panel, Source, Watch, read_panel, unwatched
from keywright.calibration.calibrate import Calibration, calibrate
from keywright.errors import KeywrightError
from keywright.evaluate import Match, Plan, has_gold
from keywright.matches import PARTS, SPLIT_PARTS
from keywright.metric import Array, Metric
from keywright.protocol import Protocol
from keywright.types import Document

MEASURES = ("F1@M", "F1@5", "F1@O")
LEAST_RESAMPLES = 10_000
CALIBRATION_RESAMPLES = 1000

Interval = tuple[float, float]


@dataclass(frozen=True)
class Settings:
    """How the report is made; with `resamples` None, the number of tests decides."""

    seed: int = 0
    resamples: int | None = None
    share: float = 0.95


@dataclass(frozen=True)
class Findings:
    """The contents of a report. What cannot be computed is empty or None; `left_out` says why.

    `scores` and `intervals` are by system and metric, as `keywright evaluate` computes them.
    """

    panel: Panel
    settings: Settings
    resamples: int
    scores: dict[str, dict[str, float]]
    intervals: dict[str, dict[str, Interval]]
    comparison: Comparison | None
    averages: list[Averages]
    cutoffs: list[Cutoffs]
    numbers: list[Numbers]
    diversity: dict[str, Diversity]
    distributions: list[Distribution]
    calibration: dict[str, Calibration]
    overlaps: list[Overlap]
    agreed: list[Agreed]
    complements: list[Complement]
    candidates: list[MissingGold]
    left_out: list[str]

    @property
    def systems(self) -> tuple[str, ...]:
        return self.panel.systems

    @property
    def documents(self) -> int:
        return len(self.panel.documents)

    @property
    def without_gold(self) -> int:
        return sum(not has_gold(document) for document in self.panel.documents)


def gather(
    documents: str | Path | Iterable[Document],
    systems: Mapping[str, Source],
    *,
    protocol: str | Protocol = protocols.DEFAULT,
    settings: Settings | None = None,
    match: Match = "auto",
    watch: Watch = unwatched,
) -> Findings:
    """Read the systems, match them under one protocol and make every analysis."""
    if not systems:
        raise KeywrightError("a report needs the predictions of at least 1 system")
    panel = read_panel(documents, systems, protocol=protocol, match=match, watch=watch)
    return analyse(panel, settings or Settings(), watch)


def analyse(panel: Panel, settings: Settings, watch: Watch = unwatched) -> Findings:
    """The same for systems that are already read and matched."""
    if not any(map(has_gold, panel.documents)):
        raise KeywrightError(
            f"none of the {len(panel.documents):,} documents has a gold keyphrase, so there is "
            "nothing to report on; check the file of gold keyphrases"
        )
    plan = Plan(panel.protocol, [Metric.parse(name) for name in METRICS])
    rows = {system: plan.rows(matches) for system, matches in panel.matches.items()}
    resamples = settings.resamples or enough_resamples(len(panel.systems))
    several = len(panel.systems) > 1
    calibration = _calibrations(panel, settings, watch)
    return Findings(
        panel=panel,
        settings=settings,
        resamples=resamples,
        scores={system: _scores(plan, table) for system, table in rows.items()},
        intervals=_intervals(plan, rows, resamples, settings),
        comparison=_comparison(plan, rows, resamples, settings),
        averages=averages.macro_and_micro(panel, MEASURES),
        cutoffs=averages.cutoffs(panel),
        numbers=[counts.numbers(panel, system, part) for system in panel.systems for part in PARTS],
        diversity={system: diversity(made) for system, made in panel.predictions.items()},
        distributions=[
            measured(panel, system, part)
            for measured in (distribution.fine_grained, distribution.token_f1)
            for part in SPLIT_PARTS
            for system in panel.systems
        ],
        calibration=calibration,
        overlaps=overlap.overlaps(panel) if several else [],
        agreed=[found for part in SPLIT_PARTS for found in overlap.agreed(panel, part)]
        if several
        else [],
        complements=[overlap.complement(panel, part) for part in PARTS] if several else [],
        candidates=overlap.missing_gold(panel) if several else [],
        left_out=list(_left_out(panel, calibration)),
    )


def enough_resamples(systems: int) -> int:
    """Enough for the smallest p to stay below 0.001 after Holm's correction of all tests."""
    tests = len(METRICS) * len(list(combinations(range(systems), 2)))
    return max(LEAST_RESAMPLES, 1000 * tests)


def _scores(plan: Plan, rows: Array) -> dict[str, float]:
    return {name: float(score) for name, score in plan.scores(rows.sum(axis=0)).items()}


def _intervals(
    plan: Plan, rows: Mapping[str, Array], resamples: int, settings: Settings
) -> dict[str, dict[str, Interval]]:
    """Percentiles of the bootstrap over documents; none for a single document."""
    found: dict[str, dict[str, Interval]] = {}
    tail = (1 - settings.share) / 2
    for system, table in rows.items():
        if len(table) < 2:
            found[system] = {}
            continue
        resampled = plan.scores(bootstrap_sums(table, resamples, settings.seed))
        limits = {name: np.quantile(values, [tail, 1 - tail]) for name, values in resampled.items()}
        found[system] = {name: (float(low), float(high)) for name, (low, high) in limits.items()}
    return found


def _comparison(
    plan: Plan, rows: Mapping[str, Array], resamples: int, settings: Settings
) -> Comparison | None:
    documents = len(next(iter(rows.values())))
    if len(rows) < 2 or documents < 2:
        return None
    return compare_rows(
        plan, rows, Design(resamples=resamples, share=settings.share, seed=settings.seed)
    )


def _calibrations(panel: Panel, settings: Settings, watch: Watch) -> dict[str, Calibration]:
    found = {}
    for system, made in panel.predictions.items():
        pairs = watch(zip(panel.documents, made, strict=True), f"Calibration of {system}")
        try:
            found[system] = calibrate(
                pairs, panel.protocol, resamples=CALIBRATION_RESAMPLES, seed=settings.seed
            )
        except KeywrightError as error:
            raise KeywrightError(f"{system}: {error}") from None
    return found


def _left_out(panel: Panel, calibration: Mapping[str, Calibration]) -> Iterable[str]:
    if len(panel.systems) == 1:
        yield (
            "Significance, overlap, agreement and complementary hits are left out: they compare "
            "systems, and there is only one."
        )
    if len(panel.documents) == 1:
        yield (
            "Intervals and significance are left out: they resample documents, and there is "
            "only one."
        )
    for system, found in calibration.items():
        for note in found.notes:
            if len(panel.documents) > 1 or not note.startswith("intervals"):
                yield f"{system}: {note}."
