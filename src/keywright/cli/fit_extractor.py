"""`keywright fit-extractor`: let an extractor learn from documents with keyphrases."""

from __future__ import annotations

from pathlib import Path

import typer


def register(app: typer.Typer) -> None:
    app.command("fit-extractor")(fit)


def fit(
    extractor: str = typer.Argument(
        ..., help="An extractor that learns: kea, maui or topicalpagerank."
    ),
    documents: str = typer.Option(
        ...,
        help="Documents to learn from, with their gold keyphrases (topicalpagerank needs none).",
    ),
    output: Path = typer.Option(..., help="The file for what was learned, JSON."),
    most: int | None = typer.Option(None, min=1, help="Use only the first documents."),
    settings: list[str] = typer.Option(
        [], "--set", metavar="KEY=VALUE", help="A setting of the extractor. May be repeated."
    ),
) -> None:
    """Let an extractor learn; then predict with --model NAME --set fitted=FILE."""
    from itertools import islice
    from typing import Any

    from keywright import config as configs
    from keywright import parts
    from keywright.data.documents import read_documents
    from keywright.errors import ConfigError
    from keywright.extractors import _supervised
    from keywright.files import exclusive
    from keywright.predictor import EXTRACTORS

    table: dict[str, Any] = {}
    for setting in settings:
        configs.override(table, setting)
    module, chosen = configs.part(configs.Part(extractor, table), EXTRACTORS, extractor)
    if "fit" not in vars(module):
        learning = [name for name in parts.names(EXTRACTORS) if _learns(name)]
        raise ConfigError(f"{extractor} does not learn; those that do: {', '.join(learning)}")
    output.parent.mkdir(parents=True, exist_ok=True)
    with exclusive(output):
        learned = module.fit(islice(read_documents(documents), most), chosen)
        _supervised.save(output, extractor, learned)
    typer.echo(f"{output}: learned from {learned.documents:,} documents")


def _learns(name: str) -> bool:
    from keywright import parts
    from keywright.predictor import EXTRACTORS

    return "fit" in vars(parts.module(EXTRACTORS, name))
