"""`keywright make-pairs`: scored pairs of phrases, from which a scorer is trained."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

import typer

from keywright.cli._options import one_of
from keywright.progress import progress

if TYPE_CHECKING:
    from keywright.evaluate import Match
    from keywright.scorers.pairs import Similarity


def register(app: typer.Typer) -> None:
    app.command("make-pairs")(make_pairs)


def make_pairs(
    predictions: list[Path] = typer.Argument(
        help="Predictions of one or more systems for the documents, in any format we read."
    ),
    documents: Path = typer.Option(..., help="The documents with their gold keyphrases."),
    output: Path = typer.Option(..., help="Pairs as JSON lines."),
    protocol: str = typer.Option("chan19", help="How phrases are stemmed, filtered and split."),
    score: str = typer.Option(
        "both", help="edit (word edit distance), token (token F1), or the mean of both."
    ),
    zeros: int = typer.Option(
        1, min=0, help="Pairs with a score of 0 to keep per prediction; the others are all kept."
    ),
    seed: int = typer.Option(1, help="For the choice of the pairs with a score of 0."),
    match: str = typer.Option("auto", help="Pair documents and predictions: auto | id | line."),
) -> None:
    """Write (prediction, target, score) pairs of the present and of the absent phrases.

    The score is the phrase similarity of the FG metric. Phrases are written as stems.
    """
    from keywright.scorers.making import make
    from keywright.scorers.pairs import Similarity, write_pairs

    one_of("score", score, get_args(Similarity))
    one_of("way to match", match, ("auto", "id", "line"))
    pairs = make(
        documents,
        predictions,
        protocol=protocol,
        kind=cast("Similarity", score),
        zeros=zeros,
        seed=seed,
        match=cast("Match", match),
    )
    count = write_pairs(progress(pairs, "making pairs"), output)
    typer.echo(f"{count:,} pairs: {output}", err=True)
