"""`keywright score-pairs`: how similar a scorer finds pairs of phrases."""

from __future__ import annotations

import time
from pathlib import Path

import typer

from keywright.errors import MissingExtraError


def register(app: typer.Typer) -> None:
    app.command("score-pairs")(score_pairs)


def score_pairs(
    pairs: Path = typer.Argument(help='JSON lines with "prediction" and "target" phrases.'),
    scorer: Path = typer.Option(..., help="Run folder of a scorer (see docs/reinforcement.md)."),
    output: Path = typer.Option(..., help="The same lines, each with the scorer's score as fb."),
    stems: bool = typer.Option(
        False, "--stems", help="The phrases are stems already, as make-pairs writes them."
    ),
) -> None:
    """Score pairs of phrases with a trained scorer: 0 is unrelated, 1 is the same."""
    try:
        from keywright.scorers.alone import score_file
        from keywright.scorers.scorer import load
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("keywright"):
            raise
        raise MissingExtraError("a scorer", error.name, "train") from None

    loaded = load(scorer)
    began = time.perf_counter()
    count = score_file(pairs, loaded, output, stems=stems)
    seconds = time.perf_counter() - began
    typer.echo(
        f"{count:,} pairs in {seconds:.1f} s ({count / seconds:.0f} pairs/s): {output}", err=True
    )
