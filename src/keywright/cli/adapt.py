"""`keywright adapt`: learn from your own documents and their keyphrases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from keywright.errors import ConfigError

if TYPE_CHECKING:
    from keywright.data.table import Columns
    from keywright.types import Document


def register(app: typer.Typer) -> None:
    app.command("adapt")(adapt)


def adapt(
    documents: Path = typer.Argument(
        help="Documents with keyphrases: JSON lines or another format that `keywright evaluate` "
        "reads, or a .csv or .tsv table with a header."
    ),
    output: Path = typer.Option(
        ..., help="The new folder of the adapted model, for --model in other commands."
    ),
    model: str = typer.Option(
        "default",
        help="The model to adapt: default (the model that comes with keywright), or the folder of "
        "a ranker. It is not changed.",
    ),
    text_column: str | None = typer.Option(
        None, help="Column of a table with the texts (default: text, body, abstract, ...)."
    ),
    title_column: str | None = typer.Option(
        None, help="Column of a table with the titles (default: title, if there is one)."
    ),
    keyphrases_column: str | None = typer.Option(
        None, help="Column of a table with the keyphrases (default: keyphrases, keywords or tags)."
    ),
    separator: str | None = typer.Option(
        None,
        help="What separates the keyphrases of a cell (default: |, ; or a comma, the first of them "
        "that the cell contains).",
    ),
) -> None:
    """Adapt a model to your own documents and their keyphrases.

    It learns which keyphrases you use, for which texts, and how many per document. 200 documents
    are enough to begin with; thousands are better. Scores before and after come from
    cross-validation: each document is scored by what was learnt from others.
    """
    from keywright.adaptation.adapt import adapt as adapt_model
    from keywright.data.table import Columns

    columns = Columns(text_column, title_column, keyphrases_column, separator)
    found = _documents(documents, columns)
    verdict = adapt_model(found, output, model, lambda text: typer.echo(text, err=True))
    for line in verdict.lines():
        typer.echo(line)
    typer.echo(f"{output}: use it with --model {output}")


def _documents(path: Path, columns: Columns) -> Iterator[Document]:
    from keywright.data.documents import read_documents
    from keywright.data.table import Columns, is_table, read_table

    if is_table(path):
        return read_table(path, columns)
    if columns != Columns():
        raise ConfigError(f"{path} is not a .csv or .tsv table, so columns cannot be named")
    return read_documents(path)
