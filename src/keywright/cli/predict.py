"""`keywright predict`: the keyphrases that a trained model or an extractor gives to documents."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import typer

from keywright.cli._options import progress
from keywright.errors import ConfigError, DataError

STANDARD_OUTPUT = "-"


def register(app: typer.Typer) -> None:
    app.command("predict")(predict)


def predict(
    model: str = typer.Option(
        ...,
        help="default (the model that comes with keywright), the folder of a trained, exported or "
        "fitted one, or an extractor: textrank, tfidf, yake, keybert.",
    ),
    documents: str = typer.Option(..., help="Documents, in any format we read."),
    output: str = typer.Option(..., help="Predictions as JSON lines; - prints them."),
    decode: str | None = typer.Option(
        None, help="greedy, sample, beam or exhaustive; as the run's config says by default."
    ),
    settings: list[str] = typer.Option(
        [],
        "--set",
        metavar="KEY=VALUE",
        help="A setting of the strategy or of the extractor: --set width=50. May be repeated.",
    ),
    batch: int | None = typer.Option(None, min=1, help="Documents decoded together."),
    max_source: int | None = typer.Option(
        None,
        min=1,
        help="Tokens of a document that are read; 512, or more if trained so. The default model "
        "reads 400 words; generate reads all of a document.",
    ),
    calibration: Path | None = typer.Option(
        None, help="A file of `keywright calibrate --fit`: probabilities of documents like yours."
    ),
    document_format: str | None = typer.Option(
        None, "--format", help="The format of the documents, if it is not to be recognised."
    ),
    resume: bool = typer.Option(
        False, "--resume", help="Go on with an interrupted run; begin one if there is none."
    ),
    force: bool = typer.Option(False, "--force", help="Replace what is there."),
) -> None:
    """Predict keyphrases. An interrupted run goes on with --resume, to the same bytes."""
    from keywright import predictor
    from keywright.data.documents import read_documents
    from keywright.data.resumable import resumable_lines
    from keywright.data.writers import prediction_line, write_predictions

    if output != STANDARD_OUTPUT and resume and not force and Path(output).exists():
        typer.echo(f"{output}: is complete", err=True)
        return
    loaded = predictor.load(
        model,
        decode=decode,
        settings=settings,
        batch=batch,
        max_source=max_source,
        calibration=calibration,
    )
    if output == STANDARD_OUTPUT:
        if resume or force:
            raise ConfigError("--resume and --force are for files, not for the standard output")
        write_predictions(loaded.predict(read_documents(documents, format=document_format)), output)
        return
    total = _count(documents, document_format)
    origin = {"documents": documents, "format": document_format, **loaded.settings}
    began = time.perf_counter()
    with resumable_lines(output, origin, resume=resume, force=force) as lines:
        first = lines.done
        if total is not None and first > total:
            raise DataError(f"has {total} documents, but {first} were predicted already", documents)
        source = read_documents(documents, format=document_format)
        rest = predictor.after(loaded, source, first)
        try:
            for prediction in progress(
                rest, "predicting", None if total is None else total - first
            ):
                lines.append(prediction_line(prediction, lines.done + 1))
        except KeyboardInterrupt:
            typer.echo(f"stopped after {lines.done:,} documents; --resume goes on", err=True)
            sys.exit(130)
    seconds = time.perf_counter() - began
    made = lines.done - first
    typer.echo(
        f"{made:,} documents in {seconds:.1f} s ({made / seconds:.1f} documents/s): {output}",
        err=True,
    )


def _count(documents: str, document_format: str | None) -> int | None:
    """How many documents there are, which also finds a bad line before hours of work, not after.

    What can be read only once is not counted.
    """
    from keywright.data.documents import read_documents

    if not (Path(documents).is_file() or Path(documents).is_dir()):
        return None
    return sum(1 for _ in read_documents(documents, format=document_format))
