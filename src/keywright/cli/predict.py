"""`keywright predict`: predict the keyphrases of documents with a model or an extractor."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from keywright.errors import ConfigError, DataError
from keywright.progress import progress

if TYPE_CHECKING:
    from keywright.data.corpus import Digest
    from keywright.predictor import LoadedModel

STANDARD_OUTPUT = "-"


def register(app: typer.Typer) -> None:
    app.command("predict")(predict)


def predict(
    model: str = typer.Option(
        ...,
        help="default (the model that comes with keywright), the folder of a trained run, an "
        "exported model or a ranker, an extractor such as textrank or topicrank, hf: and a "
        "pretrained encoder-decoder (hf:bloomberg/KeyBART, hf:FOLDER), or a language model behind "
        "an OpenAI-compatible endpoint: llm:NAME@http://localhost:8080/v1.",
    ),
    documents: str = typer.Option(..., help="Documents in any format that keywright reads."),
    output: str = typer.Option(..., help="File for predictions as JSON lines; - prints them."),
    decode: str | None = typer.Option(
        None,
        help="greedy, sample, beam, exhaustive or expected_f1 (default: that of the run's config).",
    ),
    settings: list[str] = typer.Option(
        [],
        "--set",
        metavar="KEY=VALUE",
        help="A setting of the strategy or the extractor: --set width=50. May be repeated.",
    ),
    batch: int | None = typer.Option(None, min=1, help="Documents decoded together."),
    max_source: int | None = typer.Option(
        None,
        min=1,
        help="How many tokens of a document are read (default: 512, or more if the model was "
        "trained with more). The default model reads 400 words.",
    ),
    calibration: Path | None = typer.Option(
        None, help="A file of `keywright calibrate --fit`: probabilities for documents like yours."
    ),
    document_format: str | None = typer.Option(
        None, "--format", help="The format of the documents (default: recognised)."
    ),
    resume: bool = typer.Option(
        False, "--resume", help="Continue an interrupted run; start one if there is none."
    ),
    force: bool = typer.Option(False, "--force", help="Replace existing files."),
) -> None:
    """Predict keyphrases. --resume continues an interrupted run, with the same result."""
    from keywright import predictor
    from keywright.data.documents import read_documents
    from keywright.data.resumable import resumable_lines
    from keywright.data.writers import prediction_line, write_predictions

    if output != STANDARD_OUTPUT and resume and not force and Path(output).exists():
        typer.echo(f"{output}: is already complete", err=True)
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
        with _summarised(loaded):
            source = read_documents(documents, format=document_format)
            write_predictions(loaded.predict(source), output)
        return
    digest = _digest(documents, document_format)
    total = None if digest is None else digest.documents
    origin = {
        "documents": documents,
        "documents_sha256": None if digest is None else digest.sha256,
        "format": document_format,
        **loaded.settings,
    }
    began = time.perf_counter()
    with (
        _summarised(loaded),
        resumable_lines(output, origin, resume=resume, force=force) as lines,
    ):
        first = lines.done
        if total is not None and first > total:
            raise DataError(f"has {total} documents, but {first} are already predicted", documents)
        source = read_documents(documents, format=document_format)
        rest = predictor.after(loaded, source, first)
        try:
            for prediction in progress(
                rest, "predicting", None if total is None else total - first
            ):
                lines.append(prediction_line(prediction, lines.done + 1))
        except KeyboardInterrupt:
            typer.echo(f"stopped after {lines.done:,} documents; --resume continues", err=True)
            sys.exit(130)
    seconds = time.perf_counter() - began
    made = lines.done - first
    what = "document" if made == 1 else "documents"
    typer.echo(
        f"{made:,} {what} in {seconds:.1f} s ({made / seconds:.1f} documents/s): {output}",
        err=True,
    )


@contextmanager
def _summarised(loaded: LoadedModel) -> Iterator[None]:
    """Print what the predictions took, also if they ended early: requests cost money."""
    try:
        yield
    finally:
        if loaded.summary is not None and (line := loaded.summary()):
            typer.echo(line, err=True)


def _digest(documents: str, document_format: str | None) -> Digest | None:
    """How many documents there are and their digest, so that changed ones are not continued.

    Reading them also finds a bad line before hours of work, not after. What can be read only once
    has no digest.
    """
    from keywright.data.corpus import digest
    from keywright.data.documents import read_documents

    if not (Path(documents).is_file() or Path(documents).is_dir()):
        return None
    return digest(read_documents(documents, format=document_format))
