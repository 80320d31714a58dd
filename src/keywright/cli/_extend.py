"""A table with the keyphrases of its rows added, made in a run that can be continued.

The keyphrases of every row are appended to `OUTPUT.part`. When all are there, the table is read
again and written with them, so that memory does not grow with the table, and a killed run loses
nothing, whatever the kind of the table.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import msgspec
import typer

from keywright.cli._jobs import Failed, Found, chunk_size, outcomes
from keywright.data import tabular
from keywright.data.corpus import digest
from keywright.data.resumable import resumable_lines
from keywright.data.table import Columns
from keywright.errors import DataError, KeywrightError
from keywright.generation.job import Job, engine, settings
from keywright.progress import progress
from keywright.sources import read_source
from keywright.types import Document

PROBABILITY = "_probability"
INTERRUPTED = 130


class _Line(msgspec.Struct, array_like=True):
    """What `OUTPUT.part` has for a row."""

    keyphrases: list[str]
    probabilities: list[float | None]


@dataclass(frozen=True)
class Extension:
    """Which table to extend, with which columns, and where to write it."""

    source: Path
    output: Path
    columns: Columns | None
    name: str  # of the column for keyphrases

    @property
    def names(self) -> tuple[str, str]:
        return self.name, self.name + PROBABILITY

    def documents(self) -> Iterator[Document]:
        return read_source(self.source, self.columns)

    def check(self) -> None:
        """Report at the start what would make the last step fail."""
        tabular.require_writable(self.source, self.output)
        if self.output.exists() and self.output.samefile(self.source):
            raise DataError("is the table itself; name another file for --output", self.output)
        header, _ = tabular.read(self.source)
        twice = [name for name, count in Counter(header).items() if count > 1]
        if twice and tabular.suffix(self.output) not in (".csv", ".tsv"):
            raise DataError(
                f"has several columns {twice[0]!r}; only .csv and .tsv can", self.source
            )
        for name in self.names:
            if name in header:
                raise DataError(
                    f"has a column {name!r} already; name the new one with --keyphrases-column",
                    self.source,
                )

    def finish(self, part: Path, output: Path) -> None:
        added = tabular.Added(self.names, _added(part))
        tabular.extend(self.source, output, added)


def extend(wanted: Extension, job: Job, jobs: int, *, resume: bool, force: bool) -> None:
    """Write the table with keyphrases; a message on standard error says how long it took."""
    output = wanted.output
    if resume and not force and output.exists():
        typer.echo(f"{output}: is already complete", err=True)
        return
    wanted.check()
    found = digest(wanted.documents())  # finds a bad row before hours of work, not after
    origin = {"table_sha256": found.sha256, "columns": wanted.columns, **settings(job)}
    began = time.perf_counter()
    warned: Counter[str] = Counter()
    with resumable_lines(output, origin, resume=resume, force=force, finish=wanted.finish) as lines:
        first = lines.done
        rest = _rest(wanted.documents(), job, jobs, first, found.documents)
        encode = msgspec.json.Encoder().encode
        try:
            for item in progress(rest, "Generating", found.documents - first):
                warned.update(item.warnings)
                lines.append(encode(_line(item)) + b"\n")
        except KeyboardInterrupt:
            typer.echo(f"stopped after {lines.done:,} rows; --resume continues", err=True)
            sys.exit(INTERRUPTED)
    for warning, count in warned.most_common():
        typer.echo(f"keywright: warning: {count:,} rows: each {warning}", err=True)
    seconds = time.perf_counter() - began
    made = lines.done - first
    rows = "row" if made == 1 else "rows"
    typer.echo(
        f"{made:,} {rows} in {seconds:.1f} s ({made / seconds:.1f} rows/s): {output}", err=True
    )


def _rest(
    documents: Iterable[Document], job: Job, jobs: int, done: int, total: int
) -> Iterator[Found]:
    """The keyphrases of the rows after the first `done`, as an uninterrupted run finds them."""
    size = chunk_size(total, jobs)
    # A chunk that was interrupted is done again from its beginning, because the phrases of a model
    # may depend on which documents are in a batch.
    whole = 0 if engine(job).needs_all else done - done % size
    with closing(outcomes(islice(documents, whole, None), job, jobs, size)) as made:
        for outcome in islice(made, done - whole, None):
            if isinstance(outcome, Failed):
                raise KeywrightError(outcome.message)
            yield outcome


def _line(found: Found) -> _Line:
    return _Line(
        [phrase.text for phrase in found.keyphrases],
        [_rounded(phrase.probability) for phrase in found.keyphrases],
    )


def _rounded(probability: float | None) -> float | None:
    return None if probability is None else round(probability, 4)


def _added(part: Path) -> Iterator[tuple[list[str], list[float | None] | None]]:
    """The keyphrases of every row and their probabilities; None if the model gave none."""
    decode = msgspec.json.Decoder(_Line).decode
    with part.open("rb") as file:
        for line in file:
            row = decode(line)
            nothing = row.keyphrases and all(value is None for value in row.probabilities)
            yield row.keyphrases, None if nothing else row.probabilities
