"""`keywright generate`: keyphrases for files, folders or standard input."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from keywright.cli._options import one_of, progress
from keywright.errors import KeywrightError

if TYPE_CHECKING:
    from keywright.generation.keyphrases import Keyphrase
    from keywright.types import Document

FORMATS = ("table", "json", "jsonl", "csv", "text")
SOME_FAILED = 1


class Found(NamedTuple):
    document: Document
    keyphrases: list[Keyphrase]


def register(app: typer.Typer) -> None:
    app.command("generate")(generate)


def generate(
    files: list[Path] = typer.Argument(
        help="Text, Markdown, PDF, HTML or JSON-lines files, folders of them, or - for standard "
        "input."
    ),
    model: str = typer.Option(
        ..., help="The folder of a trained or exported model, or an extractor such as textrank."
    ),
    top: int | None = typer.Option(None, help="At most so many keyphrases a document."),
    min_confidence: float = typer.Option(0.0, help="Leave out less probable keyphrases."),
    present_only: bool = typer.Option(False, "--present-only", help="Only those in the text."),
    absent_only: bool = typer.Option(False, "--absent-only", help="Only those not in the text."),
    output_format: str = typer.Option("table", "--format", help=" | ".join(FORMATS)),
    output: Path | None = typer.Option(None, help="A file to write to instead of the screen."),
) -> None:
    """Generate keyphrases for documents.

    A file that cannot be read is reported and does not stop the others; the exit code is then 1.
    """
    from keywright.generation.engine import Keywright, Wanted

    one_of("format", output_format, FORMATS)
    wanted = Wanted(top, min_confidence, present=not absent_only, absent=not present_only)
    engine = Keywright(model)
    failed: list[str] = []
    documents: list[Document] = []

    def remembered() -> Iterator[Document]:
        for document in progress(_documents(files, failed), "Generating"):
            documents.append(document)
            yield document

    found = (Found(documents.pop(0), phrases) for phrases in engine.generate(remembered(), wanted))
    _write(_FORMATS[output_format](found), output)
    if failed:
        typer.echo(f"{len(failed)} of the files could not be read", err=True)
        raise typer.Exit(SOME_FAILED)


def _documents(files: list[Path], failed: list[str]) -> Iterator[Document]:
    from keywright.sources import find, read_content, read_source

    for given in files:
        try:
            if str(given) == "-":
                yield read_content(sys.stdin.buffer.read(), "standard input")
                continue
            paths = find(given)
        except KeywrightError as error:
            _report(error, failed)
            continue
        for path in paths:
            try:
                yield from read_source(path)
            except KeywrightError as error:
                _report(error, failed)


def _report(error: KeywrightError, failed: list[str]) -> None:
    failed.append(str(error))
    typer.echo(f"keywright: {error}", err=True)


def _write(lines: Iterator[str], output: Path | None) -> None:
    if output is None:
        for line in lines:
            typer.echo(line)
        return
    from keywright.files import atomic_write

    with atomic_write(output) as file:
        for line in lines:
            file.write(line + "\n")  # type: ignore[call-overload]


def _as_table(found: Iterable[Found]) -> Iterator[str]:
    from rich.console import Console
    from rich.table import Table

    for document, phrases in found:
        table = Table(title=_name(document), title_justify="left")
        table.add_column("keyphrase")
        table.add_column("probability", justify="right")
        table.add_column("in the text")
        for one in phrases:
            sure = "" if one.probability is None else f"{one.probability:.0%}"
            where = f"{len(one.places)} ×" if one.present else "absent"
            table.add_row(one.text, sure, where)
        screen = Console(file=io.StringIO(), width=Console().width)
        screen.print(table if phrases else f"{_name(document)}: no keyphrases")
        yield screen.file.getvalue().rstrip("\n")  # type: ignore[attr-defined]


def _name(document: Document) -> str:
    return document.title or document.id or "(no title)"


def _as_jsonl(found: Iterable[Found]) -> Iterator[str]:
    import msgspec

    for document, phrases in found:
        record = {"id": document.id, "title": document.title, "keyphrases": phrases}
        yield msgspec.json.encode(record).decode()


def _as_json(found: Iterable[Found]) -> Iterator[str]:
    lines = list(_as_jsonl(found))
    yield "[\n" + ",\n".join(lines) + "\n]"


def _as_csv(found: Iterable[Found]) -> Iterator[str]:
    yield _row("document", "keyphrase", "probability", "present", "start", "end")
    for document, phrases in found:
        for one in phrases:
            start, end = one.places[0] if one.places else ("", "")
            sure = "" if one.probability is None else repr(one.probability)
            yield _row(document.id or "", one.text, sure, one.present, start, end)


def _row(*cells: object) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(cells)
    return line.getvalue()


def _as_text(found: Iterable[Found]) -> Iterator[str]:
    for _, phrases in found:
        yield "; ".join(one.text for one in phrases)


_FORMATS = {
    "table": _as_table,
    "json": _as_json,
    "jsonl": _as_jsonl,
    "csv": _as_csv,
    "text": _as_text,
}
