"""The scores of a study: every system on every data set, under the data set's protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from keywright.evaluate import Match, evaluate
from keywright.studies.definition import OWN, Study, TableSpec
from keywright.studies.plan import Cell, Plan

Row = tuple[str, str]
"""A system and a decoder."""


class CellScores(msgspec.Struct, frozen=True):
    """The scores of one seed of a system on one data set, as fractions or counts."""

    system: str
    decoder: str
    seed: int
    dataset: str
    protocol: str
    documents: int
    scores: dict[str, float]


@dataclass(frozen=True)
class Results:
    plan: Plan
    scores: tuple[CellScores, ...]

    @property
    def study(self) -> Study:
        return self.plan.study

    def of(self, row: Row, dataset: str, metric: str) -> list[float]:
        """The scores of all seeds."""
        return [
            found.scores[metric]
            for found in self.scores
            if (found.system, found.decoder, found.dataset) == (*row, dataset)
            and metric in found.scores
        ]

    def published(self, system: str, dataset: str, metric: str) -> float | None:
        return self.study.system(system).published.get(dataset, {}).get(metric)

    def rows(self, table: TableSpec) -> list[Row]:
        """The rows of a table, in the order of the study."""
        found: list[Row] = []
        for system in self.study.systems:
            if table.systems and system.name not in table.systems:
                continue
            for decoder in self.study.decoders_of(system):
                if not table.decoders or decoder.name in (*table.decoders, OWN):
                    found.append((system.name, decoder.name))
        return found

    def datasets(self, table: TableSpec) -> list[str]:
        names = [dataset.name for dataset in self.study.datasets]
        return [name for name in names if not table.datasets or name in table.datasets]

    def predictions(self, row: Row, dataset: str) -> Cell | None:
        """The predictions that are compared: those of the first seed."""
        for cell in self.plan.cells:
            if (cell.system, cell.decoder, cell.dataset) == (*row, dataset):
                return cell
        return None


def score(plan: Plan, watch: Callable[[str], None]) -> Results:
    """Score all predictions; those of our own systems are in the order of the documents."""
    found = []
    for cell in plan.cells:
        dataset = plan.study.dataset(cell.dataset)
        metrics = _metrics(plan.study, cell.dataset)
        watch(f"scoring {cell.system} on {cell.dataset}")
        scores = evaluate(
            plan.documents[cell.dataset],
            cell.predictions,
            protocol=plan.study.protocol_of(dataset),
            metrics=metrics,
            match=match_of(cell),
        )
        found.append(
            CellScores(
                cell.system,
                cell.decoder,
                cell.seed,
                cell.dataset,
                scores.protocol,
                scores.documents,
                scores.scores,
            )
        )
    return Results(plan, tuple(found))


def match_of(cell: Cell) -> Match:
    return "auto" if cell.given else "line"


def _metrics(study: Study, dataset: str) -> Sequence[str]:
    """What any table or figure asks for on this data set."""
    wanted: Mapping[str, None] = dict.fromkeys(
        metric
        for table in study.tables
        if not table.datasets or dataset in table.datasets
        for metric in (table.metrics or study.metrics)
    )
    drawn = dict.fromkeys(
        figure.metric
        for figure in study.figures
        if figure.kind == "scores" and (not figure.datasets or dataset in figure.datasets)
        if figure.metric is not None
    )
    return list({**wanted, **drawn})


def files_of(results: Results, rows: Iterable[Row], dataset: str) -> dict[Row, Path]:
    """The predictions of rows on a data set, where there are any."""
    cells = {row: results.predictions(row, dataset) for row in rows}
    return {row: cell.predictions for row, cell in cells.items() if cell is not None}
