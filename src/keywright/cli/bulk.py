"""`keywright bulk`: keyphrases of millions of documents, on one machine or a cluster."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from keywright.cli._options import one_of, vocabulary_file
from keywright.errors import ConfigError, KeywrightError

if TYPE_CHECKING:
    from keywright.bulk.run import Request, Status

SOME_FAILED = 1
ALL_FAILED = 2
INTERRUPTED = 130


def register(app: typer.Typer) -> None:
    app.command("bulk")(bulk)


def bulk(
    inputs: list[str] | None = typer.Argument(
        None,
        help="Tables (JSON Lines, CSV, TSV, Parquet), folders of them, patterns such as "
        "'data/*.parquet', or addresses such as s3://bucket/folder.",
    ),
    output: str | None = typer.Option(
        None, help="Folder or address for the shards; a folder of the same run is continued."
    ),
    status: str | None = typer.Option(
        None, metavar="FOLDER", help="Only say how far the run of this folder is."
    ),
    engine: str = typer.Option("local", help="local (this machine), ray or spark."),
    address: str | None = typer.Option(
        None,
        help="Of the cluster: auto or ray://HOST:10001 for ray; a master such as "
        "spark://HOST:7077 for spark. Without it, both use this machine.",
    ),
    workers: int | None = typer.Option(
        None, min=1, help="Number of workers (default: as many as there are processors)."
    ),
    cpus: int = typer.Option(1, min=1, help="Processors of each worker."),
    gpus: float = typer.Option(0.0, min=0.0, help="GPUs of each worker, with --engine ray."),
    shard_size: int = typer.Option(1000, min=1, help="Documents of a shard."),
    output_format: str = typer.Option("jsonl", "--format", help="jsonl | parquet"),
    column: str | None = typer.Option(
        None, help="Column with the texts (default: the one with a usual name)."
    ),
    title_column: str | None = typer.Option(
        None, help="Column with the titles (default: title, if there is one)."
    ),
    id_column: str | None = typer.Option(
        None, help="Column that identifies documents (default: id; else FILE:LINE)."
    ),
    model: str = typer.Option(
        "default",
        help="default (the model that comes with keywright), the folder of a trained, exported or "
        "fitted model, or an extractor such as textrank.",
    ),
    top: int | None = typer.Option(
        None,
        help="At most N keyphrases per document (0 = all); by default the number follows from the "
        "document.",
    ),
    min_confidence: float = typer.Option(0.0, help="Omit keyphrases with a lower probability."),
    precision: float | None = typer.Option(
        None,
        help="Return as many keyphrases as possible with at least this expected precision, such as "
        "0.8.",
    ),
    present_only: bool = typer.Option(
        False, "--present-only", help="Only keyphrases that occur in the text."
    ),
    absent_only: bool = typer.Option(
        False, "--absent-only", help="Only keyphrases that do not occur in the text."
    ),
    vocabulary: Path | None = typer.Option(
        None, help="A .csv, .tsv, .txt or SKOS file with the terms to use as keyphrases."
    ),
    vocabulary_mode: str = typer.Option(
        "only", help="only: omit keyphrases that match no term; mark: keep them."
    ),
    vocabulary_language: str = typer.Option("en", help="Language of the SKOS labels to read."),
    vocabulary_fuzzy: float | None = typer.Option(
        None,
        help="Also match names with typing errors, at this similarity or more, such as 0.92.",
    ),
    calibration: Path | None = typer.Option(
        None,
        help="A file that `keywright calibrate --fit` wrote, for probabilities that suit your "
        "documents.",
    ),
) -> None:
    """Generate keyphrases for any number of documents, in shards that are each made once.

    Killed at any moment, the same command finishes what is missing. Documents that fail are listed
    in failures.jsonl; the exit code is then 1, or 2 if all of them failed.
    """
    if status is not None:
        if inputs or output is not None:
            raise ConfigError("--status is given alone, with the folder of a run")
        _print_status(status)
        return
    if not inputs or output is None:
        raise ConfigError("name the input and a folder for the result: INPUT --output FOLDER")
    from keywright import parts
    from keywright.bulk.engines import Resources
    from keywright.bulk.plan import ColumnNames
    from keywright.bulk.run import ENGINES, Request
    from keywright.bulk.shard import FORMATS
    from keywright.generation.engine import Selection
    from keywright.generation.job import Job

    one_of("format", output_format, FORMATS)
    one_of("engine", engine, parts.names(ENGINES))
    terms = vocabulary_file(vocabulary, vocabulary_mode, vocabulary_language, vocabulary_fuzzy)
    selection = Selection(top, min_confidence, not absent_only, not present_only, precision)
    _run(
        Request(
            inputs,
            output,
            Job(model, selection, cpus, terms, calibration),
            ColumnNames(column, title_column, id_column),
            output_format,
            shard_size,
            engine,
            Resources(workers, cpus, gpus, address),
        )
    )


def _run(request: Request) -> None:
    from keywright.bulk.run import run
    from keywright.progress import Meter

    try:
        with Meter("Generating") as meter:
            done = run(
                request,
                lambda status: meter.update(
                    status.documents_done, status.documents, status.failures
                ),
            )
    except KeyboardInterrupt:
        typer.echo("keywright: interrupted; the same command continues", err=True)
        sys.exit(INTERRUPTED)
    typer.echo(f"{_described(done)}: {request.output}", err=True)
    if done.failures:
        typer.echo(f"{request.output}/failures.jsonl says why documents failed", err=True)
        raise typer.Exit(ALL_FAILED if done.failures == done.documents else SOME_FAILED)


def _print_status(folder: str) -> None:
    from keywright.bulk import places
    from keywright.bulk.run import status

    found = status(folder)
    try:
        with places.folder(folder).lock():
            running = ""
    except KeywrightError:
        running = "; running"
    state = "complete" if found.complete else "not complete"
    typer.echo(f"{_described(found)}; {state}{running}")


def _described(status: Status) -> str:
    share = status.documents_done / status.documents if status.documents else 1.0
    return (
        f"{status.documents_done:,} of {status.documents:,} documents ({share:.1%}), "
        f"{status.shards_done:,} of {status.shards:,} shards, {status.failures:,} failures"
    )
