"""A run: plan or continue, let an engine make what is missing, and say how far it is."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from keywright import __version__, parts
from keywright.bulk import places
from keywright.bulk.engines import Resources
from keywright.bulk.plan import (
    MANIFEST,
    ColumnNames,
    Manifest,
    encode,
    inputs,
    load,
    plan,
    require_same,
)
from keywright.bulk.shard import FAILURES, Made, Task, report_of, require_format, shard_of
from keywright.data.parallel import usable_cpus
from keywright.errors import ConfigError, DataError, KeywrightError
from keywright.generation.job import Job, engine, settings

ENGINES = "keywright.bulk.engines"
REPORT = "failures.jsonl"
MOST_PROBLEMS = 3  # that end a run: a full disk is one for every shard


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    inputs: Sequence[str]
    output: str
    job: Job
    columns: ColumnNames
    format: str
    shard_size: int
    engine: str
    resources: Resources


class Status(NamedTuple):
    """How far a run is."""

    shards: int
    shards_done: int
    documents: int
    documents_done: int
    failures: int

    @property
    def complete(self) -> bool:
        return self.shards == self.shards_done


Report = Callable[[Status], None]


def run(request: Request, report: Report = lambda status: None) -> Status:
    """Make all shards that are missing; `report` is called whenever one is made."""
    chosen = parts.module(ENGINES, request.engine)
    if hasattr(chosen, "check"):
        chosen.check(request.resources)
    require_format(request.format)
    model = engine(request.job)
    model.stream([], request.job.selection)  # refuses what the model cannot do
    if model.needs_all:
        raise ConfigError(
            f"{request.job.model} compares each document with all others, so it cannot work in "
            "shards; use another model, or `keywright generate`"
        )
    folder = places.folder(request.output)
    with folder.lock():
        manifest = _planned(request, folder)
        folder.remove_leftovers()
        done = _run(request, chosen, manifest, report)
        _gather_failures(folder, manifest)
        folder.remove_leftovers()
    return done


def _planned(request: Request, folder: places.Folder) -> Manifest:
    """The manifest of the folder, or a new one."""
    paths = inputs(request.inputs)
    _require_outside(request)
    used = {
        "keywright": __version__,
        "format": request.format,
        "shard_size": request.shard_size,
        "columns": request.columns._asdict(),
        **settings(request.job),
    }
    workers = usable_cpus()
    found = load(request.output)
    if found is not None:
        require_same(found, paths, used, request.output, workers)
        return found
    # A run that was killed before its manifest was there may have left hidden files.
    if names := {name for name in folder.names() if not name.startswith(".")}:
        raise DataError(
            f"is not empty (it has {min(names)!r}) and not the output of an earlier run; name a "
            "new folder",
            request.output,
        )
    manifest = plan(paths, request.columns, request.shard_size, used, workers)
    folder.write(MANIFEST, encode(manifest))
    return manifest


def _require_outside(request: Request) -> None:
    """Output in an input folder would be input of the next run."""
    out = places.absolute(request.output)
    for given in request.inputs:
        if f"{out}/".startswith(f"{places.absolute(given)}/"):
            raise ConfigError(f"{request.output}: is in the input {given}; name another folder")


def _run(request: Request, chosen: Any, manifest: Manifest, report: Report) -> Status:
    status = _status(request.output, manifest)
    report(status)
    present = places.folder(request.output).names()
    missing = [n for n in range(len(manifest.shards)) if manifest.name(n) not in present]
    if not missing:
        return status
    here = str(Path.cwd())
    task = Task(request.job, request.output, request.format, manifest.columns, here)
    shards = [shard_of(manifest, number) for number in missing]
    problems: list[str] = []
    made: Generator[Made, None, None] = chosen.run(task, shards, request.resources)
    with closing(made):
        for shard in made:
            if shard.problem is not None:
                problems.append(shard.problem)
                if len(problems) >= MOST_PROBLEMS:
                    break
                continue
            status = status._replace(
                shards_done=status.shards_done + 1,
                documents_done=status.documents_done + shard.documents,
                failures=status.failures + shard.failures,
            )
            report(status)
    if problems:
        raise KeywrightError(
            f"{problems[0]} ({status.shards_done:,} of {status.shards:,} shards are done; the same "
            "command continues)"
        )
    return status


def status(folder: str) -> Status:
    """How far the run of an output folder is."""
    manifest = load(folder)
    if manifest is None:
        raise DataError(f"has no {MANIFEST}: it is not the output of `keywright bulk`", folder)
    return _status(folder, manifest)


def _status(output: str, manifest: Manifest) -> Status:
    folder = places.folder(output)
    present = folder.names()
    done = [n for n in range(len(manifest.shards)) if manifest.name(n) in present]
    reports = _reports(folder, manifest, done)
    failures = sum(report.count(b"\n") for report in reports)
    return Status(
        len(manifest.shards),
        len(done),
        manifest.documents,
        sum(map(manifest.size, done)),
        failures,
    )


def _gather_failures(folder: places.Folder, manifest: Manifest) -> None:
    """All failures in one file, in the order of the documents."""
    folder.write(REPORT, _reports(folder, manifest, range(len(manifest.shards))))


def _reports(folder: places.Folder, manifest: Manifest, shards: Iterable[int]) -> Iterator[bytes]:
    """The failures of these shards, for each that has some."""
    present = folder.names(FAILURES)
    for name in map(manifest.name, shards):
        if f"{name}.jsonl" in present:
            yield folder.read(report_of(name)) or b""
