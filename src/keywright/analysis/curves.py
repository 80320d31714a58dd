"""Learning curves: what runs logged while they were trained, value by value.

Reads `metrics.jsonl` without torch, and also while a run is still being written.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from keywright.data.records import explain
from keywright.errors import DataError, KeywrightError, UnknownNameError
from keywright.files import NOT_JSON, open_binary
from keywright.metric import Array

Axis = Literal["documents", "updates", "minutes"]

# The name that `keywright.runs` gives it; importing that module would import torch.
METRICS = "metrics.jsonl"
TRAIN = "train"
LOSS = "loss"
RATE = "learning_rate"
_LAST = ("gradient_norm", RATE, "documents_per_second")


class _Line(msgspec.Struct, frozen=True):
    """The fields that every line of the log has; `best` only those of validations."""

    kind: str
    update: int
    stage: int
    documents: int
    seconds: float
    best: bool = False


_PLACE = frozenset((*_Line.__struct_fields__, "epoch"))


@dataclass(frozen=True)
class Entry:
    """One line of the log: where the run was, and the values it reported, by their full names."""

    kind: str
    stage: int
    update: int
    documents: int
    seconds: float
    values: dict[str, float]
    best: bool = False
    """Whether this is a validation with a better score than all before it in the stage."""

    def at(self, axis: Axis) -> float:
        match axis:
            case "documents":
                return self.documents
            case "updates":
                return self.update
            case "minutes":
                return self.seconds / 60


@dataclass(frozen=True)
class Curve:
    """One value of one stage of a run; every array has the shape [points]."""

    stage: int
    x: Array
    y: Array
    best: NDArray[np.bool_]
    kind: str
    """Of the lines that it is from: "train", "valid", ..."""
    noisy: bool
    """Whether it needs smoothing: values of training do, except for the rate of a schedule."""


@dataclass(frozen=True)
class RunLog:
    """What a run has logged so far."""

    path: Path
    entries: tuple[Entry, ...]

    def names(self) -> list[str]:
        """The values that were reported, in the order in which they first appear.

        Values of training have their plain name ("loss"), others that of their kind in front
        ("valid.loss", "valid.present.F1@M").
        """
        return list(dict.fromkeys(name for entry in self.entries for name in entry.values))

    def curves(self, name: str, axis: Axis) -> Iterator[Curve]:
        """A value stage by stage: a later stage may minimise something else."""
        reported = [entry for entry in self.entries if name in entry.values]
        for stage in sorted({entry.stage for entry in reported}):
            found = [entry for entry in reported if entry.stage == stage]
            yield Curve(
                stage=stage,
                x=np.array([entry.at(axis) for entry in found], dtype=float),
                y=np.array([entry.values[name] for entry in found], dtype=float),
                best=np.array([entry.best for entry in found], dtype=bool),
                kind=found[0].kind,
                noisy=found[0].kind == TRAIN and name != RATE,
            )

    def stage_starts(self, axis: Axis) -> dict[int, float]:
        """Where each stage but the first begins: where the last entry before it was logged."""
        return {
            after.stage: before.at(axis)
            for before, after in pairwise(self.entries)
            if after.stage > before.stage
        }

    def only(self, stage: int) -> RunLog:
        """One stage (from 0), with updates, documents and seconds counted from where it begins."""
        found = [entry for entry in self.entries if entry.stage == stage]
        if not found:
            stages = 1 + max(entry.stage for entry in self.entries)
            raise KeywrightError(
                f"{self.path}: has logged nothing of stage {stage + 1}, "
                f"{stages} {'stage has' if stages == 1 else 'stages have'} begun"
            )
        before = [entry for entry in self.entries if entry.stage < stage]
        return RunLog(self.path, tuple(_since(before[-1], e) if before else e for e in found))

    def end(self, axis: Axis) -> float:
        return self.entries[-1].at(axis)


def read_run(path: str | Path) -> RunLog:
    """The log of a run folder (or a `metrics.jsonl` itself).

    A last line that is only half written is left out; any other line that is not a report is an
    error that names it.
    """
    path = Path(path)
    file = path / METRICS if path.is_dir() else path
    if path.is_dir() and not file.exists():
        raise DataError(
            f"has no {METRICS}: it is not a run folder, or the run has not logged anything yet",
            path,
        )
    with open_binary(file) as stream:
        *lines, last = stream.read().split(b"\n")
    entries = [_entry(line, file, number) for number, line in enumerate(lines, 1) if line.strip()]
    if last.strip():
        with suppress(DataError):  # only half of it is there: the run is being written
            entries.append(_entry(last, file, len(lines) + 1))
    if not entries:
        raise DataError(
            "has no complete line yet; a run logs its first one after some updates", file
        )
    return RunLog(path, tuple(entries))


def _since(start: Entry, entry: Entry) -> Entry:
    return replace(
        entry,
        update=entry.update - start.update,
        documents=entry.documents - start.documents,
        seconds=entry.seconds - start.seconds,
    )


def _entry(line: bytes, path: Path, number: int) -> Entry:
    try:
        values: dict[str, object] = msgspec.json.decode(line, type=dict)
        place = msgspec.convert(values, _Line)
    except NOT_JSON as error:
        raise DataError(explain(error, ""), path, number) from None
    prefix = "" if place.kind == TRAIN else f"{place.kind}."
    return Entry(
        kind=place.kind,
        stage=place.stage,
        update=place.update,
        documents=place.documents,
        seconds=place.seconds,
        values={
            f"{prefix}{name}": float(value)
            for name, value in values.items()
            # JSON has no NaN: a value that was not a number is logged as null, and left out here.
            if name not in _PLACE and isinstance(value, int | float) and not isinstance(value, bool)
        },
        best=place.best,
    )


def default_values(runs: Sequence[RunLog]) -> list[str]:
    """Everything that the runs report, in the order of reading: losses, scores, what the objective
    adds, then gradient, learning rate and speed.

    A part of the loss that is all of it (`nll` of a likelihood stage) is left out.
    """
    names = dict.fromkeys(name for run in runs for name in run.names())
    names = dict.fromkeys(name for name in names if name == LOSS or not _equals_loss(runs, name))
    groups = (
        [name for name in (LOSS, f"valid.{LOSS}") if name in names],
        [name for name in names if name.startswith("valid.")],
        [name for name in names if name not in _LAST],
        [name for name in _LAST if name in names],
    )
    return list(dict.fromkeys(name for group in groups for name in group))


def selected_values(runs: Sequence[RunLog], wanted: Sequence[str]) -> list[str]:
    """The named values, each reported by at least one of the runs; all of them by default."""
    known = dict.fromkeys(name for run in runs for name in run.names())
    for name in wanted:
        if name not in known:
            raise UnknownNameError("value", name, known)
    return list(dict.fromkeys(wanted)) or default_values(runs)


def _equals_loss(runs: Sequence[RunLog], name: str) -> bool:
    entries = [entry for run in runs for entry in run.entries if LOSS in entry.values]
    return bool(entries) and all(
        name in entry.values
        and math.isclose(entry.values[name], entry.values[LOSS], rel_tol=1e-9, abs_tol=1e-12)
        for entry in entries
    )


def smoothed(values: Array, share: float) -> Array:
    """Centred moving average over a share of the points, [points].

    At both ends the window holds the points of one side only, so that the average of the last
    points is as steady as that of the others.
    """
    count = len(values)
    half = round(share * count / 2)
    place = np.arange(count)
    low, high = np.maximum(place - half, 0), np.minimum(place + half + 1, count)
    sums = np.concatenate([[0.0], np.cumsum(values)])
    averages: Array = (sums[high] - sums[low]) / (high - low)
    return averages if half else values


def run_names(paths: Sequence[Path], names: Sequence[str] = ()) -> list[str]:
    """Names for the legend: the given ones, or the folders' names without what all of them share.

    `runs/cat_seq-nll` and `runs/cat_seq-rl` become `nll` and `rl`.
    """
    if names and len(names) != len(paths):
        raise KeywrightError(f"there are {len(names)} names for {len(paths)} runs; give one each")
    found = list(names) or _short_names([_parts(path) for path in paths])
    repeated = next((name for name in found if found.count(name) > 1), None)
    if repeated is not None:
        raise KeywrightError(f"two runs are called {repeated!r}; tell them apart with --names")
    return found


def _parts(path: Path) -> tuple[str, ...]:
    """The folders of a path that ends with the run's."""
    path = path.absolute()
    return (path.parent if path.name == METRICS else path).parts


def _short_names(paths: Sequence[tuple[str, ...]]) -> list[str]:
    """The shortest ends of the paths that tell them apart, without what all of them share."""
    if len(set(paths)) < len(paths) or len(paths) == 1:
        return [parts[-1] for parts in paths]
    while min(map(len, paths)) > 1 and len({parts[-1] for parts in paths}) == 1:
        paths = [parts[:-1] for parts in paths]
    depth = 1
    while len({parts[-depth:] for parts in paths}) < len(paths):
        depth += 1
    return _without_prefix(["/".join(parts[-depth:]) for parts in paths])


def _without_prefix(names: Sequence[str]) -> list[str]:
    """Names without their common beginning, which ends at a hyphen or a slash."""
    pieces = [re.findall(r"[^-/]*[-/]+|[^-/]+", name) for name in names]
    common = 0
    while all(len(piece) > common + 1 for piece in pieces):
        if len({piece[common] for piece in pieces}) > 1:
            break
        common += 1
    return ["".join(piece[common:]) for piece in pieces]
