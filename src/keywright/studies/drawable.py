"""Which systems a figure can show, and what is wrong with a figure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Literal

from keywright import protocols
from keywright.data.predictions import read_predictions
from keywright.errors import KeywrightError
from keywright.evaluate import resolve
from keywright.metric import PERCENT, Metric
from keywright.predictor import DEFAULT
from keywright.ranking.adapted import is_adapted
from keywright.ranking.model import is_ranker
from keywright.studies.definition import DataSet, FigureSpec, Study, System, config_of, is_extractor
from keywright.studies.problems import Problem, unknown

BY_PHRASE = "TokenF1"
"""The measure that each predicted phrase has by itself."""
_PEEK = 20  # predictions of a file that are looked at
# What a setting of a figure is for; elsewhere it would have no effect.
_KINDS = {
    "metric": ("scores", "distribution"),
    "per": ("distribution",),
    "series": ("scores",),
    "sample": ("states",),
}
_NEEDS = {
    "reliability": "its phrases have neither token probabilities nor a confidence",
    "perplexity": "its phrases have no token probabilities",
    "tokens": "its phrases have no token probabilities",
    "states": "it is not trained here as one sequence of phrases by a recurrent decoder",
}


def datasets_of(study: Study, figure: FigureSpec) -> list[DataSet]:
    return [d for d in study.datasets if not figure.datasets or d.name in figure.datasets]


def systems_of(study: Study, figure: FigureSpec) -> list[System]:
    """The systems that a figure names, or all that it can show."""
    if figure.systems:
        return [system for system in study.systems if system.name in figure.systems]
    return [system for system in study.systems if why_not(system, figure) is None]


def why_not(system: System, figure: FigureSpec) -> str | None:
    """Why a system cannot be in a figure; None if it can."""
    if figure.kind == "scores":
        return None
    if system.published:
        return "it has published scores only"
    known = (
        _recurrent(system)
        if figure.kind == "states"
        else {
            "reliability": probabilities(system) != "none",
            "perplexity": probabilities(system) == "tokens",
            "tokens": probabilities(system) == "tokens",
        }.get(figure.kind, True)
    )
    return None if known else _NEEDS[figure.kind]


def probabilities(system: System) -> Literal["tokens", "stated", "none"]:
    """What the predictions of a system say about their probabilities."""
    if system.trained:
        return "tokens"
    if system.predictions:
        return _probabilities_in(system.predictions.values())
    if system.model == DEFAULT:
        return "stated"
    if system.model is None or is_extractor(system):
        return "none"
    folder = Path(system.model)
    return "stated" if is_ranker(folder) or is_adapted(folder) else "tokens"


def _probabilities_in(files: Iterable[str]) -> Literal["tokens", "stated", "none"]:
    phrases = [
        phrase
        for file in files
        for prediction in islice(read_predictions(file), _PEEK)
        for phrase in prediction.phrases
    ]
    if any(phrase.token_log_probs is not None for phrase in phrases):
        return "tokens"
    return "stated" if any(phrase.confidence is not None for phrase in phrases) else "none"


def _recurrent(system: System) -> bool:
    if not system.trained:
        return False
    from keywright import runs  # torch, which only this figure needs

    model = runs.model_class(config_of(system))
    return model.recurrent and model.paradigm == "one2seq"


def figure_problems(study: Study, figure: FigureSpec, place: str) -> Iterator[Problem]:
    yield from _name_problems(study, figure, place)
    default = FigureSpec(figure.name, figure.kind)
    for key, kinds in _KINDS.items():
        if figure.kind not in kinds and getattr(figure, key) != getattr(default, key):
            yield f"{place}.{key}", f"has no effect on {figure.kind}; only on {', '.join(kinds)}"
    if figure.kind in _KINDS["metric"]:
        yield from _metric_problems(study, figure, place)
    yield from _series_problems(study, figure, place)
    for system in study.systems:
        if system.name in figure.systems and (reason := why_not(system, figure)) is not None:
            yield f"{place}.systems", f"{system.name} cannot be in a figure {figure.kind}: {reason}"
    least = 2 if figure.kind == "overlap" else 1
    if len(systems_of(study, figure)) < least:
        lacks = _NEEDS.get(figure.kind, "it compares systems")
        yield f"{place}.kind", f"a figure {figure.kind} needs {least} systems at least: {lacks}"


def _name_problems(study: Study, figure: FigureSpec, place: str) -> Iterator[Problem]:
    groups = (
        ("system", "systems", figure.systems, [system.name for system in study.systems]),
        ("data set", "datasets", figure.datasets, [dataset.name for dataset in study.datasets]),
        ("decoder", "decoders", figure.decoders, [decoder.name for decoder in study.decoders]),
    )
    for kind, key, names, known in groups:
        for name in names:
            yield from unknown(kind, name, known, f"{place}.{key}")


def _metric_problems(study: Study, figure: FigureSpec, place: str) -> Iterator[Problem]:
    if figure.metric is None:
        yield f"{place}.kind", f"a figure {figure.kind} needs a `metric`, such as present.F1@M"
        return
    try:
        for dataset in datasets_of(study, figure):
            resolve([figure.metric], protocols.load(study.protocol_of(dataset)))
        metric = Metric.parse(figure.metric)
    except KeywrightError as error:
        yield f"{place}.metric", str(error)
        return
    if figure.kind != "distribution":
        return
    if figure.per == "phrase":
        if metric.measure != BY_PHRASE:
            yield f"{place}.metric", f"phrases have only {BY_PHRASE}, as in present.{BY_PHRASE}"
    elif metric.average == "micro" or metric.definition.unit != PERCENT:
        yield (
            f"{place}.metric",
            f"{figure.metric} is no share that each document has; a distribution needs one, such "
            "as present.FG",
        )


def _series_problems(study: Study, figure: FigureSpec, place: str) -> Iterator[Problem]:
    datasets = [dataset.name for dataset in datasets_of(study, figure)]
    systems = [system.name for system in study.systems]
    for members in figure.series.values():
        for dataset, system in members.items():
            yield from unknown("data set", dataset, datasets, f"{place}.series")
            yield from unknown("system", system, systems, f"{place}.series")
    if figure.series and figure.systems:
        yield f"{place}.systems", "`series` names the systems already; remove one of the two"
