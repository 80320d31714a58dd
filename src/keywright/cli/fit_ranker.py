"""`keywright fit-ranker`: fit a ranker, such as the model that comes with the package."""

from __future__ import annotations

from pathlib import Path

import typer


def register(app: typer.Typer) -> None:
    app.command("fit-ranker")(fit)


def fit(
    config: Path = typer.Argument(..., help="A TOML file such as configs/rankers/default.toml."),
    output: Path = typer.Option(
        ...,
        help="The folder of the ranker. Counts, topics and a span tagger that it contains are used "
        "again if they come from the same documents; an interrupted training is continued.",
    ),
    generator: Path | None = typer.Option(
        None, help="An exported model (keywright export) whose phrases are candidates as well."
    ),
    refine: bool = typer.Option(
        False,
        help="Fit only the second trees and the scaling of probabilities, of a ranker that the "
        "folder contains.",
    ),
    settings: list[str] = typer.Option(
        [],
        "--set",
        metavar="KEY=VALUE",
        help="Override a setting: --set trees.rounds=100. May be repeated.",
    ),
) -> None:
    """Fit a ranker: trees score candidates from the text, known keyphrases and a generator."""
    from keywright import config as configs
    from keywright.errors import MissingExtraError
    from keywright.files import exclusive, read_text

    try:
        from keywright.ranking.fitting import ranker
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("keywright"):
            raise
        raise MissingExtraError("fitting a ranker", error.name, "train,export,analysis") from None
    table = configs.parse_toml(read_text(config), config)
    for setting in settings:
        configs.override(table, setting)
    chosen = configs.fill(ranker.Config, table)
    output.parent.mkdir(parents=True, exist_ok=True)
    with exclusive(output):
        if refine:
            ranker.refine(chosen, output, lambda text: typer.echo(text, err=True))
        else:
            ranker.fit(chosen, output, generator, lambda text: typer.echo(text, err=True))
    typer.echo(f"{output}: {ranker.size(output) / 1e6:.1f} MB")
