"""`keywright ensemble`: one list of phrases from the predictions of several systems."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import typer

from keywright.cli._options import one_of
from keywright.progress import progress

if TYPE_CHECKING:
    from keywright.analysis.ensemble import Method
    from keywright.evaluate import Match


def register(app: typer.Typer) -> None:
    app.command("ensemble")(ensemble_command)


def ensemble_command(
    systems: list[Path] = typer.Argument(
        help="Predictions of two or more systems, in any supported format."
    ),
    documents: Path = typer.Option(..., help="The documents (no gold is needed)."),
    output: Path = typer.Option(..., help="File for the predictions (- = standard output)."),
    method: str = typer.Option("vote", help="vote | union | intersection"),
    match: str = typer.Option(
        "auto", help="How documents and predictions are paired: auto | id | line."
    ),
) -> None:
    """Combine predictions: a vote weighted by confidence, their union or their intersection."""
    from keywright.analysis.ensemble import METHODS, ensemble
    from keywright.analysis.systems import named, read_systems
    from keywright.data.documents import read_documents
    from keywright.data.writers import write_predictions

    one_of("method", method, METHODS)
    one_of("value of --match", match, ("auto", "id", "line"))
    texts = list(read_documents(documents))
    made = read_systems(texts, named(systems), match=cast("Match", match), watch=progress)
    combined = ensemble(texts, made, cast("Method", method))
    write_predictions(combined, output)
    typer.echo(f"{len(combined):,} documents written to {output}", err=True)
