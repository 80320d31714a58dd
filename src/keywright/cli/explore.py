"""`keywright explore`: one page about the keyphrases of a collection."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

import typer

from keywright.errors import KeywrightError
from keywright.progress import progress

if TYPE_CHECKING:
    from keywright.explore.collect import Entry
    from keywright.types import Document

SOME_FAILED = 1


def register(app: typer.Typer) -> None:
    app.command("explore")(explore)


def explore(
    source: Path = typer.Argument(
        help="A folder or file of documents, or predictions: what `keywright generate --format "
        "jsonl` or `keywright predict` wrote."
    ),
    output: Path = typer.Option(..., help="File for the page."),
    documents: Path | None = typer.Option(
        None, help="The documents of the predictions, for their titles and dates."
    ),
    model: str = typer.Option(
        "default", help="The model for documents: a name or a folder, as in `keywright generate`."
    ),
    top: int | None = typer.Option(None, help="At most N keyphrases per document."),
    phrases: int = typer.Option(200, min=1, help="At most N phrases on the page."),
    merge: bool = typer.Option(True, help="Count phrases together whose words mean the same."),
) -> None:
    """Write a page about the keyphrases of a collection: the most frequent ones, those that rise
    over time, which occur together, and the documents behind each. It works offline."""
    from keywright.explore.collect import is_predictions
    from keywright.explore.merging import shipped_meaning
    from keywright.explore.page import render
    from keywright.explore.survey import survey
    from keywright.files import atomic_write

    failed: list[KeywrightError] = []
    if source.is_file() and is_predictions(source):
        entries = list(progress(_predicted(source, documents), "Reading", None))
    elif documents is not None:
        raise KeywrightError(
            f"{source} has no predictions, so --documents has no use; leave it out"
        )
    else:
        entries = list(progress(_generated(source, model, top, failed), "Generating", None))
    meaning = shipped_meaning() if merge else None
    text = render(survey(entries, meaning, phrases), source.resolve().name)
    with atomic_write(output) as file:
        cast(IO[str], file).write(text)
    typer.echo(f"{output}: {len(entries):,} documents", err=True)
    if failed:
        typer.echo(f"{len(failed)} of the files could not be read", err=True)
        raise typer.Exit(SOME_FAILED)


def _predicted(source: Path, documents: Path | None) -> Iterator[Entry]:
    from keywright.data.documents import read_documents
    from keywright.explore.collect import dates_of, read

    if documents is None:
        return read(source)
    return read(source, read_documents(documents), dates_of(documents))


def _generated(
    source: Path, model: str, top: int | None, failed: list[KeywrightError]
) -> Iterator[Entry]:
    """Every document with its keyphrases; files that cannot be read are reported."""
    from keywright.explore.collect import Entry, Mention
    from keywright.generation.engine import Keywright, Selection

    selection = Selection(top)
    engine = Keywright(model)
    dates: list[str | None] = []
    names: list[str] = []

    def documents() -> Iterator[Document]:
        for document, date in _read(source, failed):
            dates.append(date)
            names.append(" ".join((document.title or document.id or "(no title)").split()))
            yield document

    for number, found in enumerate(engine.stream(documents(), selection)):
        mentions = tuple(Mention(phrase.text, phrase.probability) for phrase in found)
        yield Entry(names[number], mentions, dates[number])


def _read(source: Path, failed: list[KeywrightError]) -> Iterator[tuple[Document, str | None]]:
    from keywright.explore.collect import date_in, dates_of
    from keywright.sources import find, is_corpus, read_source

    for file in find(source):
        try:
            corpus = is_corpus(file)
            dates = dates_of(file) if corpus else {}
            shown = file.relative_to(source) if source.is_dir() else Path(file.name)
            for document in read_source(file):
                date = dates.get(document.id or "") if corpus else date_in(str(shown))
                yield document, date
        except KeywrightError as error:
            failed.append(error)
            typer.echo(f"keywright: error: {error}", err=True)
