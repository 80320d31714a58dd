"""The tables of a study: a row per system, columns by data set and metric."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from statistics import mean, stdev

from keywright.analysis import overlap as overlaps
from keywright.analysis.letters import letters
from keywright.analysis.significance import STARS, Comparison, Design, compare
from keywright.analysis.systems import read_panel
from keywright.calibration.calibrate import calibrate
from keywright.calibration.position import SECTIONS, SectionCounts
from keywright.data.documents import read_documents
from keywright.evaluate import pair
from keywright.evaluate import resolve as resolve_metrics
from keywright.matches import JudgedPhrase
from keywright.metric import Metric
from keywright.protocols import load
from keywright.studies.definition import OWN, Study, TableSpec
from keywright.studies.results import Results, Row, files_of, match_of
from keywright.tables import Cell, Table, count, number, percent

PARTS = ("present", "absent")
NOTHING = Cell("–", -math.inf)
NO_TEXT = Cell("–")
MOST_LETTERS = 100  # of the title of an example
LEVEL = 0.05  # of significance, for letters


def make(results: Results) -> list[Table]:
    makers = {
        "scores": _scores,
        "calibration": _calibration,
        "differences": _differences,
        "overlap": _overlap,
        "reproduction": _reproduction,
        "contrasts": _contrasts,
        "sections": _sections,
        "example": _example,
    }
    return [makers[spec.kind](results, spec) for spec in results.study.tables]


def row_name(row: Row) -> str:
    system, decoder = row
    return system if decoder == OWN else f"{system}, {decoder}"


def _scores(results: Results, spec: TableSpec) -> Table:
    metrics = _metrics(results, spec)
    rows, datasets = results.rows(spec), results.datasets(spec)
    tested = {name: _compared(results, spec, rows, name, metrics) for name in datasets}
    body: list[list[Cell]] = [[Cell(row_name(row))] for row in rows]
    for dataset in datasets:
        for metric in metrics:
            cells = [_score_cell(results, row, dataset, metric) for row in rows]
            marks = _marks(spec, metric, tested[dataset])
            cells = [
                replace(cell, mark=marks.get(row_name(row), ""))
                for cell, row in zip(cells, rows, strict=True)
            ]
            ours = [not results.study.system(system).published for system, _ in rows]
            for line, cell in zip(body, _with_best(cells, ours, metric), strict=True):
                line.append(cell)
    columns = ("system", *_headings(datasets, [str(metric) for metric in metrics]))
    return Table(
        spec.name, spec.title or spec.name, columns, _rows(body), tuple(_notes(results, spec))
    )


def _metrics(results: Results, spec: TableSpec) -> list[Metric]:
    wanted = spec.metrics or results.study.metrics
    return resolve_metrics(wanted, load(results.study.protocol))


def _headings(datasets: Sequence[str], columns: Sequence[str]) -> Iterable[str]:
    for dataset in datasets:
        for column in columns:
            yield f"{dataset} {column}" if len(datasets) > 1 else column


def _score_cell(results: Results, row: Row, dataset: str, metric: Metric) -> Cell:
    """The mean of all seeds with its deviation, or what a paper says."""
    printed = results.published(row[0], dataset, str(metric))
    if printed is not None:
        return Cell(printed_score(printed), printed / metric.definition.unit.scale)
    found = results.of(row, dataset, str(metric))
    if not found:
        return NOTHING
    middle = mean(found)
    text = metric.show(middle)
    if len(found) > 1:
        text += f" ± {metric.show(stdev(found))}"
    return Cell(text, middle)


def printed_score(value: float) -> str:
    """A published score with the decimals that it was printed with, but at least one."""
    return f"{value:.1f}" if round(value, 1) == value else f"{value:g}"


def _with_best(cells: Sequence[Cell], ours: Sequence[bool], metric: Metric) -> list[Cell]:
    """The best of the systems that were run; with fewer than two, none is best."""
    better = metric.definition.better
    run = [cell.value for cell, own in zip(cells, ours, strict=True) if own]
    values = [value for value in run if value is not None and math.isfinite(value)]
    if better == "neither" or len(values) < 2:
        return list(cells)
    best = max(values) if better == "higher" else min(values)
    return [
        replace(cell, best=own and cell.value == best)
        for cell, own in zip(cells, ours, strict=True)
    ]


def _marks(spec: TableSpec, metric: Metric, tested: Comparison | None) -> dict[str, str]:
    """Stars at the rows that differ significantly from the baseline, or letters of all rows."""
    if tested is None:
        return {}
    differences = [found for found in tested.differences if found.metric == str(metric)]
    if not spec.letters:
        return {found.a: found.stars for found in differences}
    sign = -1 if metric.definition.better == "higher" else 1
    names = sorted(tested.scores, key=lambda name: sign * tested.scores[name][str(metric)])
    differ = [(found.a, found.b) for found in differences if found.worst_p < LEVEL]
    return {name: f" {shared}" for name, shared in letters(names, differ).items()}


def _compared(
    results: Results, spec: TableSpec, rows: Sequence[Row], dataset: str, metrics: Sequence[Metric]
) -> Comparison | None:
    if spec.baseline is None and not spec.letters and spec.kind == "scores":
        return None
    files = files_of(results, rows, dataset)
    baseline = next((row for row in files if row[0] == spec.baseline), None)
    if len(files) < 2 or (spec.baseline is not None and baseline is None):
        return None
    study = results.study
    cells = [results.predictions(row, dataset) for row in files]
    return compare(
        results.plan.documents[dataset],
        {row_name(row): path for row, path in files.items()},
        metrics=[str(metric) for metric in metrics],
        protocol=study.protocol_of(study.dataset(dataset)),
        design=Design(
            resamples=study.resamples,
            baseline=None if baseline is None else row_name(baseline),
        ),
        match="auto" if any(cell and cell.given for cell in cells) else "line",
    )


def _notes(results: Results, spec: TableSpec) -> Iterable[str]:
    yield "Scores are times 100, counts as they are."
    study = results.study
    if any(len(study.seeds_of(study.system(row[0]))) > 1 for row in results.rows(spec)):
        yield "Mean ± standard deviation of the seeds; tests compare the first seeds."
    if any(study.system(row[0]).published for row in results.rows(spec)):
        yield "Published scores are those of the papers, on their own predictions."
    if spec.letters:
        yield (
            f"In a column, scores that share a letter do not differ significantly (p < {LEVEL}; "
            f"{_tests(study)})."
        )
    if spec.baseline is not None:
        levels = ", ".join(f"{stars} p < {level}" for level, stars in reversed(STARS))
        yield (f"Different from {spec.baseline}: {levels} ({_tests(study)}).")
    yield from _protocols(results, spec)


def _tests(study: Study) -> str:
    return (
        f"the larger of paired bootstrap and permutation, {study.resamples:,} each, Holm's "
        "correction over a data set"
    )


def _protocols(results: Results, spec: TableSpec) -> Iterable[str]:
    study = results.study
    protocols = {study.protocol_of(study.dataset(name)) for name in results.datasets(spec)}
    yield f"Protocol {', '.join(sorted(protocols))}."


def _calibration(results: Results, spec: TableSpec) -> Table:
    """Expected calibration errors in points, as in table 2 of the calibration study."""
    rows, datasets = results.rows(spec), results.datasets(spec)
    body: list[list[Cell]] = []
    for row in rows:
        line = [Cell(row_name(row))]
        for dataset in datasets:
            line += _calibration_cells(results, row, dataset)
        body.append(line)
    columns = ("system", *_headings(datasets, [f"{part} ECE" for part in PARTS]))
    notes = (
        "Expected calibration error in points: ten bins of equal width, confidence as predicted.",
    )
    return Table(spec.name, spec.title or spec.name, columns, _rows(body), notes)


def _calibration_cells(results: Results, row: Row, dataset: str) -> list[Cell]:
    cell = results.predictions(row, dataset)
    if cell is None:
        return [NOTHING] * len(PARTS)
    study = results.study
    pairs = pair(results.plan.documents[dataset], cell.predictions, match_of(cell))
    found = calibrate(pairs, study.protocol_of(study.dataset(dataset)), resamples=0)
    errors = [found[part].scores["ECE"] for part in PARTS]
    return [NOTHING if e is None else number(100 * e, 1) for e in errors]


def _differences(results: Results, spec: TableSpec) -> Table:
    """Every tested difference with its interval and corrected p-value."""
    metrics = _metrics(results, spec)
    body = []
    for dataset in results.datasets(spec):
        tested = _compared(results, spec, results.rows(spec), dataset, metrics)
        for found in tested.differences if tested else ():
            metric = Metric.parse(found.metric)
            low, high = map(metric.show, found.interval)
            body.append(
                [
                    Cell(f"{found.a} - {found.b}"),
                    Cell(dataset),
                    Cell(found.metric),
                    replace(
                        Cell(metric.show(found.difference), found.difference), mark=found.stars
                    ),
                    Cell(f"{low} to {high}"),
                    number(found.worst_p, 4),
                ]
            )
    columns = ("systems", "data set", "metric", "difference", "95% interval", "p")
    return Table(
        spec.name, spec.title or spec.name, columns, _rows(body), tuple(_notes(results, spec))
    )


def _overlap(results: Results, spec: TableSpec) -> Table:
    """How many phrases pairs of systems have in common, and how many of those are correct."""
    body = []
    for dataset in results.datasets(spec):
        files = files_of(results, results.rows(spec), dataset)
        if len(files) < 2:
            continue
        study = results.study
        panel = read_panel(
            results.plan.documents[dataset],
            {row_name(row): path for row, path in files.items()},
            protocol=study.protocol_of(study.dataset(dataset)),
        )
        for found in overlaps.overlaps(panel):
            body.append(
                [
                    Cell(f"{found.a}, {found.b}"),
                    Cell(dataset),
                    Cell(found.part),
                    percent(found.agreement),
                    *(
                        percent(split.precision)
                        for split in (found.shared, found.only_a, found.only_b)
                    ),
                ]
            )
    kinds = ("shared", "first only", "second only")
    columns = (
        *("systems", "data set", "phrases", "agreement %"),
        *(f"{kind}, right %" for kind in kinds),
    )
    notes = (
        "Agreement: phrases that both systems predict, divided by those that either predicts; mean "
        "over the documents with any.",
    )
    return Table(spec.name, spec.title or spec.name, columns, _rows(body), notes)


def _reproduction(results: Results, spec: TableSpec) -> Table:
    """What was measured here minus what was published (Thomas and Vajjala 2024, table 2)."""
    metrics, datasets = _metrics(results, spec), results.datasets(spec)
    body = []
    for system, decoder in results.rows(spec):
        printed = results.study.system(system).reproduces.get(decoder)
        if printed is not None:
            line = [Cell(row_name((system, decoder))), Cell(printed)]
            for dataset in datasets:
                for metric in metrics:
                    line.append(_gap(results, (system, decoder), printed, dataset, metric))
            body.append(line)
    columns = ("system", "compared with", *_headings(datasets, [str(m) for m in metrics]))
    notes = ("Our score minus the published one; scores are times 100.", *_protocols(results, spec))
    return Table(spec.name, spec.title or spec.name, columns, _rows(body), notes)


def _gap(results: Results, row: Row, printed: str, dataset: str, metric: Metric) -> Cell:
    published = results.published(printed, dataset, str(metric))
    found = results.of(row, dataset, str(metric))
    if published is None or not found:
        return NOTHING
    unit = metric.definition.unit
    difference = unit.scale * mean(found) - published
    return _signed(difference, unit.digits)


def _signed(value: float, digits: int) -> Cell:
    return Cell(f"{value:+.{digits}f}".replace("-", "−"), value)


def _contrasts(results: Results, spec: TableSpec) -> Table:
    """The first minus the second metric of each pair: macro and micro averages, or @M and @O
    (Thomas and Vajjala 2024, tables 5 and 6). Several data sets have a mean, too."""
    metrics = _metrics(results, spec)
    pairs = list(zip(metrics[::2], metrics[1::2], strict=True))
    body = []
    for row in results.rows(spec):
        kept = [name for name in results.datasets(spec) if results.of(row, name, str(metrics[0]))]
        for dataset in kept:
            body.append(_contrast(results, row, [dataset], dataset, pairs))
        if len(kept) > 1:
            body.append(_contrast(results, row, kept, "mean", pairs))
    columns = ["system", "data set"]
    for first, second in pairs:
        columns += [str(first), str(second), "difference"]
    return Table(
        spec.name,
        spec.title or spec.name,
        tuple(columns),
        _rows(body),
        ("Scores are times 100; the mean is over the data sets.", *_protocols(results, spec)),
    )


def _contrast(
    results: Results,
    row: Row,
    datasets: Sequence[str],
    label: str,
    pairs: Sequence[tuple[Metric, Metric]],
) -> list[Cell]:
    line = [Cell(row_name(row)), Cell(label)]
    for metrics in pairs:
        values = [
            mean(mean(results.of(row, dataset, str(metric))) for dataset in datasets)
            for metric in metrics
        ]
        shown = [Cell(m.show(value), value) for m, value in zip(metrics, values, strict=True)]
        unit = metrics[0].definition.unit
        line += [*shown, _signed(unit.scale * (values[0] - values[1]), unit.digits)]
    return line


def _sections(results: Results, spec: TableSpec) -> Table:
    """Present gold phrases by the fifth of the text (table 3 of the calibration study)."""
    study = results.study
    width = 100 // SECTIONS
    body = []
    for name in results.datasets(spec):
        counts = SectionCounts(load(study.protocol_of(study.dataset(name))))
        for document in read_documents(results.plan.documents[name], need_gold=True):
            counts.add(document, ())
        body.append([Cell(name), *map(count, counts.total().gold)])
    columns = ("data set", *(f"{width * i}–{width * (i + 1)}%" for i in range(SECTIONS)))
    notes = (
        "Present gold phrases by where they first occur, in % of the characters.",
        *_protocols(results, spec),
    )
    return Table(spec.name, spec.title or spec.name, columns, _rows(body), notes)


def _example(results: Results, spec: TableSpec) -> Table:
    """A document with its gold and predicted phrases (Thomas and Vajjala 2024, table 8)."""
    study, body = results.study, []
    for dataset in results.datasets(spec):
        documents = read_documents(results.plan.documents[dataset], need_gold=True)
        document = next(islice(documents, spec.document - 1, None), None)
        if document is None:
            continue
        protocol = load(study.protocol_of(study.dataset(dataset)))
        title = " ".join((document.title or document.body).split())
        body.append([Cell(title[:MOST_LETTERS]), Cell(dataset), NO_TEXT, NO_TEXT])
        gold = protocol.judge(document, document.keyphrases or ()).phrases
        body.append(
            [Cell("gold"), Cell(dataset), *_listed(gold, document.keyphrases or (), marked=False)]
        )
        for row in results.rows(spec):
            cell = results.predictions(row, dataset)
            if cell is not None:
                pairs = pair(results.plan.documents[dataset], cell.predictions, match_of(cell))
                _, made = next(islice(pairs, spec.document - 1, None))
                judged = protocol.judge(document, made.texts).phrases
                body.append([Cell(row_name(row)), Cell(dataset), *_listed(judged, made.texts)])
    columns = ("", "data set", "present phrases", "absent phrases")
    notes = (f"Document {spec.document}. Correct phrases are marked with an asterisk.",)
    return Table(spec.name, spec.title or spec.name, columns, _rows(body), notes)


def _listed(
    phrases: Sequence[JudgedPhrase], texts: Sequence[str], marked: bool = True
) -> list[Cell]:
    """The phrases that a protocol counts, present ones first."""
    found: dict[bool, list[str]] = {True: [], False: []}
    for phrase in phrases:
        if phrase.dropped is None and phrase.index is not None:
            mark = "*" if phrase.correct and marked else ""
            found[phrase.present].append(texts[phrase.index] + mark)
    return [Cell("; ".join(found[present])) if found[present] else NO_TEXT for present in found]


def _rows(body: Sequence[Sequence[Cell]]) -> tuple[tuple[Cell, ...], ...]:
    return tuple(tuple(line) for line in body)
