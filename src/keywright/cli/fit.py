"""`keywright fit`: learn a ranker, such as the model that comes with the package."""

from __future__ import annotations

from pathlib import Path

import typer


def register(app: typer.Typer) -> None:
    app.command("fit")(fit)


def fit(
    config: Path = typer.Argument(..., help="A TOML file such as configs/rankers/default.toml."),
    output: Path = typer.Option(
        ...,
        help="The folder of the ranker. Counts, topics and a marker that are there, learnt "
        "from the same documents, are used again; a marker half learnt is gone on with.",
    ),
    generator: Path | None = typer.Option(
        None, help="An exported model (keywright export) whose phrases are judged as well."
    ),
    settings: list[str] = typer.Option(
        [], "--set", help="Put KEY=VALUE over the config, as in trees.rounds=100."
    ),
) -> None:
    """Fit a ranker: candidates from text, known keyphrases and a generator, judged by trees."""
    import tomllib

    from keywright import config as configs
    from keywright.errors import ConfigError, MissingExtraError
    from keywright.files import read_text

    try:
        from keywright.training import ranker
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("keywright"):
            raise
        raise MissingExtraError("fitting a ranker", error.name, "train,export,analysis") from None
    try:
        table = tomllib.loads(read_text(config))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{config}: is no TOML: {error}") from None
    for setting in settings:
        configs.override(table, setting)
    chosen = configs.fill(ranker.Config, table)
    ranker.fit(chosen, output, generator, lambda text: typer.echo(text, err=True))
    typer.echo(f"{output}: {ranker.size(output) / 1e6:.1f} MB")
