"""What is wrong with a study: the path of a setting, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from keywright import parts, protocols
from keywright.data import hub
from keywright.data.documents import read_documents
from keywright.errors import DataError, KeywrightError
from keywright.evaluate import resolve
from keywright.predictor import DEFAULT, EXTRACTORS, PRETRAINED
from keywright.studies.definition import (
    OWN,
    DataSet,
    Decoder,
    Excerpt,
    FigureSpec,
    Labels,
    Scorer,
    Study,
    System,
    TableSpec,
    is_extractor,
    scorer_config_of,
)
from keywright.studies.drawable import figure_problems, probabilities
from keywright.studies.problems import Problem, unknown
from keywright.studies.trainable import config_problems, decoder_problems, run_problems

_Named = System | DataSet | Decoder | TableSpec | FigureSpec | Scorer | Labels
_NAME = re.compile(r"[^/\\\x00-\x1f]{1,80}")


def problems(study: Study) -> Iterator[Problem]:
    """What is wrong with a study: the path of a setting, and what to do about it."""
    yield from _name_problems(study)
    yield from _seed_problems(study.seeds, "seeds")
    for number, system in enumerate(study.systems):
        yield from _system_problems(study, system, f"systems[{number}]")
    for number, scorer in enumerate(study.scorers):
        yield from _scorer_problems(study, scorer, f"scorers[{number}]")
    for number, labels in enumerate(study.labels):
        yield from _labels_problems(study, labels, f"labels[{number}]")
    yield from _cycles(study)
    yield from decoder_problems(study)
    for number, dataset in enumerate(study.datasets):
        yield from _dataset_problems(study, dataset, f"datasets[{number}]")
    for number, table in enumerate(study.tables):
        yield from _table_problems(study, table, f"tables[{number}]")
    for number, figure in enumerate(study.figures):
        yield from figure_problems(study, figure, f"figures[{number}]")


def _name_problems(study: Study) -> Iterator[Problem]:
    groups: dict[str, Sequence[_Named]] = {
        "systems": study.systems,
        "datasets": study.datasets,
        "decoders": study.decoders,
        "tables": study.tables,
        "figures": study.figures,
        "scorers": study.scorers,
        "labels": study.labels,
    }
    for group, members in groups.items():
        if not members and group not in ("figures", "scorers", "labels"):
            yield group, "is empty; a study needs at least one"
        names = [member.name for member in members]
        for number, name in enumerate(names):
            if not _NAME.fullmatch(name) or name.startswith("."):
                yield f"{group}[{number}].name", f"{name!r} cannot be part of a file name"
            if name in names[:number]:
                yield f"{group}[{number}].name", f"{name!r} is used twice; names must differ"


def _seed_problems(seeds: Sequence[int], place: str) -> Iterator[Problem]:
    if not seeds:
        yield place, "is empty; name at least one seed"
    for seed in seeds:
        if seeds.count(seed) > 1:
            yield place, f"{seed} is used twice; the same seed gives the same model"


def _system_problems(study: Study, system: System, place: str) -> Iterator[Problem]:
    given = [k for k in ("config", "model", "predictions", "published") if getattr(system, k)]
    if len(given) != 1:
        found = " and ".join(given) or "none of them"
        yield (
            f"{place}.name",
            f"needs one of `config`, `model`, `predictions` or `published`, and has {found}",
        )
    if system.seeds is not None:
        yield from _seed_problems(system.seeds, f"{place}.seeds")
    if system.trained:
        yield from config_problems(study, system, place)
    elif system.set or system.start or system.seeds or system.scorer or system.labels:
        yield (
            f"{place}.name",
            "only a system with a `config` has `set`, `start`, `scorer`, `labels`, `seeds`",
        )
    if system.model is not None and not _is_model(system.model):
        known = [DEFAULT, *parts.names(EXTRACTORS)]
        yield (
            f"{place}.model",
            f"{system.model!r} is neither the folder of a model nor one of {', '.join(known)}",
        )
    yield from run_problems(system, place)
    known = [dataset.name for dataset in study.datasets]
    for dataset in (*system.predictions, *system.published):
        kind = "predictions" if system.predictions else "published"
        yield from unknown("data set", dataset, known, f"{place}.{kind}")
    for dataset in system.datasets:
        yield from unknown("data set", dataset, known, f"{place}.datasets")
    yield from _reproduction_problems(study, system, place)
    for dataset, file in system.predictions.items():
        if not Path(file).is_file():
            yield f"{place}.predictions", f"{file}: there is no such file (for {dataset})"
    for name in system.decoders or ():
        yield from unknown("decoder", name, [d.name for d in study.decoders], f"{place}.decoders")


def _reproduction_problems(study: Study, system: System, place: str) -> Iterator[Problem]:
    printed = [other.name for other in study.systems if other.published]
    for decoder, name in system.reproduces.items():
        known = [decoder.name for decoder in study.decoders_of(system)]
        yield from unknown("decoder", decoder, known, f"{place}.reproduces")
        yield from unknown("system with published scores", name, printed, f"{place}.reproduces")


def _scorer_problems(study: Study, scorer: Scorer, place: str) -> Iterator[Problem]:
    try:
        scorer_config_of(scorer)
    except KeywrightError as error:
        yield f"{place}.config", str(error)
    trained = [system.name for system in study.systems if system.trained]
    yield from unknown("trained system", scorer.system, trained, f"{place}.system")
    for key, excerpt in (("train", scorer.train), ("valid", scorer.valid)):
        if excerpt is not None:
            yield from _excerpt_problems(excerpt, f"{place}.{key}")


def _labels_problems(study: Study, labels: Labels, place: str) -> Iterator[Problem]:
    known = [system.name for system in study.systems if system.trained or system.model]
    yield from unknown("system that can predict", labels.system, known, f"{place}.system")
    chosen = [other for other in study.systems if other.name == labels.system]
    listed = () if any(map(is_extractor, chosen)) else study.decoders
    known = [OWN, *(decoder.name for decoder in listed if decoder.name != OWN)]
    yield from unknown("decoder", labels.decoder, known, f"{place}.decoder")
    if labels.min_confidence and any(probabilities(other) == "none" for other in chosen):
        yield f"{place}.min_confidence", f"{labels.system} says nothing about its probabilities"
    yield from _excerpt_problems(labels, place, need_gold=False)


def _cycles(study: Study) -> Iterator[Problem]:
    """Systems that wait for themselves: for their start, their scorer or their labels."""
    names = [system.name for system in study.systems]
    scored = {scorer.name: scorer.system for scorer in study.scorers}
    labelled = {labels.name: labels.system for labels in study.labels}
    # What each system waits for, and the setting that says so.
    before: dict[str, dict[str | None, str]] = {
        system.name: {
            **dict.fromkeys(map(labelled.get, system.labels), "labels"),
            scored.get(system.scorer or ""): "scorer",
            system.start: "start",
        }
        for system in study.systems
    }
    waits = {name: [other for other in names if other in before[name]] for name in names}
    for number, name in enumerate(names):
        circle = _circle([name], waits)
        if circle is not None:
            key = before[name][circle[1]]
            shown = " -> ".join(circle)
            yield f"systems[{number}].{key}", f"is a cycle: {shown}; one of them must be first"


def _circle(chain: list[str], waits: Mapping[str, Sequence[str]]) -> list[str] | None:
    """A way from the last of a chain back to its first."""
    for name in waits[chain[-1]]:
        if name == chain[0]:
            return [*chain, name]
        found = None if name in chain else _circle([*chain, name], waits)
        if found is not None:
            return found
    return None


def _dataset_problems(study: Study, dataset: DataSet, place: str) -> Iterator[Problem]:
    try:
        protocols.load(study.protocol_of(dataset))
    except KeywrightError as error:
        yield f"{place}.protocol", str(error)
    yield from _excerpt_problems(dataset, place)


def _excerpt_problems(excerpt: Excerpt, place: str, *, need_gold: bool = True) -> Iterator[Problem]:
    if excerpt.documents.startswith(hub.PREFIX):
        yield (
            f"{place}.documents",
            f"{excerpt.documents} is no file; write one with `keywright data convert`",
        )
        return
    try:
        documents = read_documents(excerpt.documents, need_gold=need_gold)
        if next(islice(documents, excerpt.skip, None), None) is None:
            yield f"{place}.skip", f"{excerpt.documents} has no more than {excerpt.skip} documents"
    except DataError as error:
        yield f"{place}.documents", str(error)


def _table_problems(study: Study, table: TableSpec, place: str) -> Iterator[Problem]:
    systems = [system.name for system in study.systems]
    groups: tuple[tuple[str, str, Iterable[str], list[str]], ...] = (
        ("system", "systems", table.systems, systems),
        ("data set", "datasets", table.datasets, [d.name for d in study.datasets]),
        ("decoder", "decoders", table.decoders, [d.name for d in study.decoders]),
        ("system", "baseline", [table.baseline] if table.baseline else [], systems),
    )
    for kind, key, names, known in groups:
        for name in names:
            yield from unknown(kind, name, known, f"{place}.{key}")
    if table.baseline and study.system(table.baseline).published:
        yield f"{place}.baseline", f"{table.baseline} has published scores only: nothing to test"
    if table.letters and table.baseline:
        yield f"{place}.letters", "letters compare all rows, a baseline some; leave one of them out"
    if table.letters and table.kind != "scores":
        yield f"{place}.letters", f"has no effect on {table.kind}, only on scores"
    for dataset in study.datasets:
        if table.datasets and dataset.name not in table.datasets:
            continue
        try:
            resolve(table.metrics or study.metrics, protocols.load(study.protocol_of(dataset)))
        except KeywrightError as error:
            yield f"{place}.metrics" if table.metrics else "metrics", str(error)
    if table.kind == "contrasts" and len(table.metrics or study.metrics) % 2:
        yield (
            f"{place}.metrics" if table.metrics else "metrics",
            "contrasts are between pairs of metrics, and this is an odd number of them",
        )
    if table.kind == "reproduction" and not any(system.reproduces for system in study.systems):
        yield f"{place}.kind", "no system says in `reproduces` which published scores it repeats"


def _is_model(name: str) -> bool:
    return (
        name == DEFAULT
        or name.startswith(PRETRAINED)
        or name in parts.names(EXTRACTORS)
        or Path(name).is_dir()
    )
