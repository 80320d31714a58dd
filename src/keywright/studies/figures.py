"""The figures of a study, drawn as SVG from the same predictions as its tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from statistics import mean, stdev

import numpy as np

from keywright.analysis import distribution as distributions
from keywright.analysis import overlap as overlaps
from keywright.analysis.distribution import Distribution
from keywright.analysis.states import STEPS, project, read_states, require_tsne
from keywright.analysis.systems import Panel, read_panel
from keywright.calibration.calibrate import Calibration, calibrate
from keywright.evaluate import Plan as Scoring
from keywright.evaluate import pair
from keywright.matches import SPLIT_PARTS, Matches
from keywright.metric import Metric
from keywright.report import comparisons
from keywright.report import figures as drawings
from keywright.report.comparisons import Bar
from keywright.report.values import Figure, Gallery
from keywright.studies import drawable
from keywright.studies.definition import OWN, FigureSpec, Study
from keywright.studies.results import Results, Row, files_of, match_of
from keywright.studies.tables import printed_score, row_name

Say = Callable[[str], None]
FEWEST_STATES = 3
"""States that a layout needs."""
TEXTS = {
    "scores": "Bars are scores; a vertical line is the standard deviation over seeds.",
    "distribution": "Shares of documents or phrases by score, in five bins.",
    "reliability": "Bars: the share of correct phrases among those of similar confidence; on the "
    "dotted line the two are equal. Dots are at the mean confidence of their bin, and the numbers "
    f"below count its phrases. A hollow bar has fewer than {drawings.FEWEST} phrases.",
    "perplexity": "Keyphrase perplexity (KPP): 1 is certain. Dashed lines are the medians.",
    "tokens": "The mean probability of the 1st to 5th token of a phrase, given those before it; "
    "vertical lines span the middle half.",
    "sections": "The share of present gold phrases that are found, by the fifth of the text in "
    "which they first occur; the numbers below are found / gold.",
    "overlap": "Documents by the share of phrases on which two systems agree, and the phrases that "
    "they share in these documents.",
    "states": "States of the decoder after a delimiter, laid out by t-SNE. The mean cosine of two "
    "states is 1 if all phrases start from the same state.",
}


NOTHING = "Nothing to show: the predictions of these systems have no such phrases."


def require_libraries(study: Study) -> None:
    """Say what to install before anything is trained."""
    if any(figure.kind == "states" for figure in study.figures):
        require_tsne()


def make(results: Results, say: Say) -> list[Gallery]:
    makers: dict[str, Callable[[Results, FigureSpec], Iterator[Figure]]] = {
        "scores": _scores,
        "distribution": _distribution,
        "reliability": _reliability,
        "perplexity": _perplexity,
        "tokens": _tokens,
        "sections": _sections,
        "overlap": _overlap,
        "states": _states,
    }
    found = []
    for spec in results.study.figures:
        say(f"drawing {spec.name}")
        drawn = tuple(makers[spec.kind](results, spec))
        folded = len(drawn) > drawings.MOST_UNFOLDED
        text = TEXTS[spec.kind] if drawn else NOTHING
        found.append(Gallery(spec.title or spec.name, text, drawn, folded))
    return found


def _rows(results: Results, spec: FigureSpec) -> list[Row]:
    """What a figure shows, in the order of the study."""
    return [
        (system.name, decoder.name)
        for system in drawable.systems_of(results.study, spec)
        for decoder in results.study.decoders_of(system)
        if not spec.decoders or decoder.name in (*spec.decoders, OWN)
    ]


def _datasets(results: Results, spec: FigureSpec) -> list[str]:
    return [dataset.name for dataset in drawable.datasets_of(results.study, spec)]


def _name(spec: FigureSpec, *places: object) -> str:
    """A name for a file and for the ids of a page."""
    return re.sub(r"[^\w.-]+", "-", "-".join(map(str, (spec.name, *places))))


def _on(text: str, dataset: str, datasets: Sequence[str]) -> str:
    return f"{text} ({dataset})" if len(datasets) > 1 else text


def _scores(results: Results, spec: FigureSpec) -> Iterator[Figure]:
    """Figure 2 of Thomas and Vajjala (2024); unique phrases of Yuan et al. (2020), section 6.2."""
    assert spec.metric is not None
    metric = Metric.parse(spec.metric)
    datasets = _datasets(results, spec)
    if spec.series:
        series = {
            name: [
                _series_bar(results, spec, members.get(dataset), dataset) for dataset in datasets
            ]
            for name, members in spec.series.items()
        }
    else:
        series = {
            row_name(row): [_bar(results, row, dataset, metric) for dataset in datasets]
            for row in _rows(results, spec)
        }
    shown = {name: bars for name, bars in series.items() if any(bars)}
    if shown:
        title = f"{spec.metric}"
        yield comparisons.score_bars(_name(spec), title, spec.metric, datasets, shown)


def _series_bar(results: Results, spec: FigureSpec, system: str | None, dataset: str) -> Bar | None:
    """The bar of a system under the first of the figure's decoders that it has."""
    if system is None:
        return None
    assert spec.metric is not None
    decoders = results.study.decoders_of(results.study.system(system))
    names = [d.name for d in decoders if not spec.decoders or d.name in (*spec.decoders, OWN)]
    return _bar(results, (system, names[0]), dataset, Metric.parse(spec.metric)) if names else None


def _bar(results: Results, row: Row, dataset: str, metric: Metric) -> Bar | None:
    printed = results.published(row[0], dataset, str(metric))
    if printed is not None:
        return Bar(printed, printed_score(printed))
    found = results.of(row, dataset, str(metric))
    if not found:
        return None
    scale = metric.definition.unit.scale
    deviation = stdev(found) if len(found) > 1 else 0.0
    text = metric.show(mean(found))
    if deviation:
        text += f" ± {metric.show(deviation)}"
    return Bar(scale * mean(found), text, scale * deviation)


def _panel(results: Results, spec: FigureSpec, dataset: str) -> Panel | None:
    """The predictions of the figure's systems for a data set; None if there are none."""
    files = files_of(results, _rows(results, spec), dataset)
    if not files:
        return None
    given = any(cell.given for cell in results.plan.cells if cell.predictions in files.values())
    study = results.study
    return read_panel(
        results.plan.documents[dataset],
        {row_name(row): path for row, path in files.items()},
        protocol=study.protocol_of(study.dataset(dataset)),
        match="auto" if given else "line",
    )


def _distribution(results: Results, spec: FigureSpec) -> Iterator[Figure]:
    """Figure 3 of Luo et al. (2021): FG by document, token F1 by phrase."""
    assert spec.metric is not None
    metric = Metric.parse(spec.metric)
    datasets = _datasets(results, spec)
    for place, dataset in enumerate(datasets):
        panel = _panel(results, spec, dataset)
        if panel is None:
            continue
        found = [_distributed(panel, system, metric, spec.per) for system in panel.systems]
        what = "Documents" if spec.per == "document" else "Predicted phrases"
        title = _on(f"{what} by {spec.metric}", dataset, datasets)
        yield drawings.distribution_bars(found, _name(spec, place), title)


def _distributed(panel: Panel, system: str, metric: Metric, per: str) -> Distribution:
    if per == "phrase":
        return distributions.token_f1(panel, system, metric.part)
    # Documents with neither gold nor predictions in the part say nothing about quality.
    kept = [match for match in panel.matches[system] if _says_something(match, metric)]
    scoring = Scoring(panel.protocol, [metric])
    values = scoring.scores(scoring.rows(kept))[str(metric)] if kept else np.zeros(0)
    return distributions.distribution(values.tolist(), system, metric.part, metric.measure)


def _says_something(match: Matches, metric: Metric) -> bool:
    phrases = match.part(metric.part)
    return bool(phrases.targets or phrases.predictions)


Calibrated = Iterator[tuple[str, str, str, Calibration]]


def _calibrations(results: Results, spec: FigureSpec) -> Calibrated:
    """A name for a figure, the system, the data set, and what calibration finds."""
    study, datasets = results.study, _datasets(results, spec)
    for number, dataset in enumerate(datasets):
        for place, row in enumerate(_rows(results, spec)):
            cell = results.predictions(row, dataset)
            if cell is None:
                continue
            pairs = pair(results.plan.documents[dataset], cell.predictions, match_of(cell))
            found = calibrate(pairs, study.protocol_of(study.dataset(dataset)), resamples=0)
            yield _name(spec, number, place), _on(row_name(row), dataset, datasets), dataset, found


def _reliability(results: Results, spec: FigureSpec) -> Iterator[Figure]:
    """Figure 3 of the calibration study."""
    for name, system, _, found in _calibrations(results, spec):
        for part in SPLIT_PARTS:
            if found[part].phrases:
                yield drawings.reliability_diagram(system, part, found[part], f"{name}-{part}")


def _perplexity(results: Results, spec: FigureSpec) -> Iterator[Figure]:
    """Figure 1 of the calibration study."""
    for name, system, _, found in _calibrations(results, spec):
        if any(found.perplexity[part].median is not None for part in SPLIT_PARTS):
            yield drawings.perplexity_histogram(system, found, name)


def _tokens(results: Results, spec: FigureSpec) -> Iterator[Figure]:
    """Figure 2 of the calibration study."""
    for name, system, _, found in _calibrations(results, spec):
        if found.tokens["all"][0].count:
            yield drawings.token_probabilities(system, found, name)


def _sections(results: Results, spec: FigureSpec) -> Iterator[Figure]:
    """Figure 4 of the calibration study."""
    for name, system, _, found in _calibrations(results, spec):
        if sum(found.sections.gold):
            yield drawings.section_bars(system, found.sections, name)


def _overlap(results: Results, spec: FigureSpec) -> Iterator[Figure]:
    """Figure 3 of Thomas and Vajjala (2024)."""
    datasets = _datasets(results, spec)
    for number, dataset in enumerate(datasets):
        panel = _panel(results, spec, dataset)
        if panel is None:
            continue
        for place, (a, b) in enumerate(combinations(panel.systems, 2)):
            name = _name(spec, number, place)
            found = [overlaps.overlap(panel, a, b, part) for part in SPLIT_PARTS]
            title = _on(f"{a} and {b}: agreement", dataset, datasets)
            yield drawings.agreement_bars(found, name, title)
            for shared in found:
                title = _on(f"{a} and {b}: shared {shared.part} phrases", dataset, datasets)
                yield comparisons.shared_bars(shared, f"{name}-{shared.part}", title)


def _states(results: Results, spec: FigureSpec) -> Iterator[Figure]:
    """Figure 2 of Yuan et al. (2020)."""
    datasets = _datasets(results, spec)
    for number, dataset in enumerate(datasets):
        for place, system in enumerate(drawable.systems_of(results.study, spec)):
            states, steps = read_states(results.plan.states[system.name, dataset])
            at = [step for step in STEPS if (steps == step).sum() >= FEWEST_STATES]
            found = project(states, steps, at=at, sample=spec.sample)
            title = _on(f"{system.name}: decoder states", dataset, datasets)
            if found:
                yield comparisons.state_clouds(_name(spec, number, place), title, found, place)
