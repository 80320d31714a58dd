"""`keywright generate`: keyphrases for files, folders or standard input."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, cast

import typer

from keywright.cli._options import one_of, progress
from keywright.errors import ConfigError, KeywrightError

if TYPE_CHECKING:
    from keywright.cli._jobs import Failed, Found, Input, Outcome, VocabularyFile
    from keywright.generation.engine import Wanted
    from keywright.generation.keyphrases import Keyphrase
    from keywright.generation.vocabulary import Mode
    from keywright.types import Document

FORMATS = ("table", "json", "jsonl", "csv", "text")
SOME_FAILED = 1
ALL_FAILED = 2
INTERRUPTED = 130
# A long document has a hundred phrases or more, which nobody reads.
TOP = 20


def register(app: typer.Typer) -> None:
    app.command("generate")(generate)


def generate(
    files: list[Path] = typer.Argument(
        help="Text, Markdown, PDF, HTML or JSON-lines files, folders of them, or - for standard "
        "input."
    ),
    model: str = typer.Option(
        "default",
        help="The model that comes with keywright, the folder of a trained or exported one, or an "
        "extractor such as textrank.",
    ),
    top: int = typer.Option(TOP, help="At most so many keyphrases a document; 0: all."),
    min_confidence: float = typer.Option(0.0, help="Leave out less probable keyphrases."),
    precision: float | None = typer.Option(
        None, help="Show as many as are expected to be right in this share, such as 0.8."
    ),
    present_only: bool = typer.Option(False, "--present-only", help="Only those in the text."),
    absent_only: bool = typer.Option(False, "--absent-only", help="Only those not in the text."),
    output_format: str = typer.Option("table", "--format", help=" | ".join(FORMATS)),
    output: Path | None = typer.Option(None, help="A file to write to instead of the screen."),
    vocabulary: Path | None = typer.Option(
        None, help="A .csv, .tsv, .txt or SKOS file: keyphrases become its terms."
    ),
    vocabulary_mode: str = typer.Option(
        "only", help="only: those that mean a term; mark: all, those that mean none as new."
    ),
    vocabulary_language: str = typer.Option("en", help="Of the labels of a SKOS vocabulary."),
    vocabulary_fuzzy: float | None = typer.Option(
        None, help="Accept names with typing errors that are so alike, such as 0.92."
    ),
    calibration: Path | None = typer.Option(
        None, help="A file of `keywright calibrate --fit`: probabilities of documents like yours."
    ),
    jobs: int = typer.Option(1, min=1, help="Processes that share the files."),
) -> None:
    """Generate keyphrases for documents.

    A file that cannot be read is reported and does not stop the others; the exit code is then 1,
    or 2 if none could be read.
    """
    from keywright.cli._jobs import Job, chunk_size, outcomes
    from keywright.generation.engine import Wanted

    one_of("format", output_format, FORMATS)
    if top < 0:
        raise ConfigError(f"top is {top}; it must be at least 1, or 0 for all")
    wanted = Wanted(top or None, min_confidence, not absent_only, not present_only, precision)
    inputs = list(_inputs(files))
    total = _total(inputs)
    chosen = _vocabulary(vocabulary, vocabulary_mode, vocabulary_language, vocabulary_fuzzy)
    threads = 1 if jobs > 1 else None
    job = Job(model, wanted, threads=threads, vocabulary=chosen, calibration=calibration)
    made = outcomes(_each(inputs), job, jobs, chunk_size(total, jobs))
    failed: list[Failed] = []
    try:
        with closing(made):
            found = _reported(progress(made, "Generating", total), failed)
            _write(_lines(found, output_format, wanted), output)
    except KeyboardInterrupt:
        typer.echo("keywright: interrupted", err=True)
        sys.exit(INTERRUPTED)
    if failed:
        typer.echo(f"{len(failed)} of the files could not be read", err=True)
        raise typer.Exit(SOME_FAILED)


def _vocabulary(
    path: Path | None, mode: str, language: str, fuzzy: float | None
) -> VocabularyFile | None:
    """The vocabulary to use, read once to say at the start what is wrong with it."""
    from keywright.cli._jobs import VocabularyFile, terms
    from keywright.generation.vocabulary import MODES

    one_of("vocabulary mode", mode, MODES)
    if path is None:
        return None
    chosen = VocabularyFile(path, cast("Mode", mode), language, fuzzy)
    if shared := terms(chosen).ambiguous:
        typer.echo(
            f"keywright: warning: {path}: {len(shared)} names belong to several terms and are "
            f"taken for none, such as {shared[0]!r}",
            err=True,
        )
    return chosen


def _inputs(files: list[Path]) -> Iterator[Input]:
    """Every file, those of folders included; what is not there is a failure like any other."""
    from keywright.cli._jobs import Failed
    from keywright.sources import find, read_content

    for given in files:
        try:
            if str(given) == "-":
                yield read_content(sys.stdin.buffer.read(), "standard input")
            else:
                yield from find(given)
        except KeywrightError as error:
            yield Failed(str(error))


def _total(inputs: list[Input]) -> int | None:
    """How many outcomes there will be, None if only reading can tell."""
    from keywright.sources import CORPUS_SUFFIXES

    many = any(isinstance(one, Path) and one.suffix.lower() in CORPUS_SUFFIXES for one in inputs)
    return None if many else len(inputs)


def _each(inputs: list[Input]) -> Iterator[Input]:
    """Files of many documents as these documents, to be shared out; the rest as it is."""
    from keywright.cli._jobs import Failed
    from keywright.sources import is_corpus, read_source

    for one in inputs:
        try:
            if isinstance(one, Path) and is_corpus(one):
                yield from read_source(one)
            else:
                yield one
        except KeywrightError as error:
            yield Failed(str(error))


def _reported(made: Iterable[Outcome], failed: list[Failed]) -> Iterator[Found]:
    """What was found; failures and warnings go to standard error on the way.

    If nothing could be read it ends in an error, so that no empty output takes a file's place.
    """
    from keywright.cli._jobs import Failed

    any_found = False
    for outcome in made:
        if isinstance(outcome, Failed):
            failed.append(outcome)
            typer.echo(f"keywright: error: {outcome.message}", err=True)
            continue
        any_found = True
        for warning in outcome.warnings:
            typer.echo(f"keywright: warning: {_name(outcome.document)} {warning}", err=True)
        yield outcome
    if failed and not any_found:
        if len(failed) > 1:
            typer.echo(f"none of the {len(failed)} files could be read", err=True)
        raise typer.Exit(ALL_FAILED)


def _write(lines: Iterator[str], output: Path | None) -> None:
    if output is None:
        for line in lines:
            typer.echo(line)
        return
    from keywright.files import atomic_write

    with atomic_write(output) as file:
        for line in lines:
            file.write(line + "\n")  # type: ignore[call-overload]


def _lines(found: Iterable[Found], output_format: str, wanted: Wanted) -> Iterator[str]:
    if output_format == "table":
        return _as_table(found, _nothing(wanted))
    return _FORMATS[output_format](found)


def _nothing(wanted: Wanted) -> str:
    """What to say of a document without keyphrases: why, where an option may be why."""
    if wanted.precision is not None:
        return f"no keyphrases that are expected to be right in {wanted.precision:.0%} of cases"
    if wanted.min_probability > 0:
        return f"no keyphrases of a probability of {wanted.min_probability:.0%} or more"
    return "no keyphrases"


def _as_table(found: Iterable[Found], nothing: str) -> Iterator[str]:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text  # and not str, in which [brackets] would be markup

    for document, phrases, _ in found:
        name = _name(document)
        table = Table(title=Text(name), title_justify="left")
        table.add_column("keyphrase")
        table.add_column("probability", justify="right")
        table.add_column("in the text")
        controlled = any(one.new or one.written is not None for one in phrases)
        if controlled:
            table.add_column("vocabulary")
        for one in phrases:
            sure = "" if one.probability is None else f"{one.probability:.0%}"
            where = f"{len(one.places)} ×" if one.present else "absent"
            cells = [Text(one.text), Text(sure), Text(where)]
            table.add_row(*cells, *([Text(_standing(one))] if controlled else []))
        screen = Console(file=io.StringIO(), width=Console().width)
        screen.print(table if phrases else Text(f"{name}: {nothing}"))
        yield screen.file.getvalue().rstrip("\n")  # type: ignore[attr-defined]


def _standing(one: Keyphrase) -> str:
    """What the vocabulary says to a phrase."""
    return "new" if one.new else one.id or "known"


def _name(document: Document) -> str:
    from keywright.generation.keyphrases import tidy

    return tidy(document.title or document.id or "(no title)")


def _as_jsonl(found: Iterable[Found]) -> Iterator[str]:
    import msgspec

    for document, phrases, warnings in found:
        record = {
            "id": document.id,
            "title": document.title,
            "keyphrases": phrases,
            "warnings": warnings,
        }
        yield msgspec.json.encode(record).decode()


def _as_json(found: Iterable[Found]) -> Iterator[str]:
    lines = list(_as_jsonl(found))
    yield "[\n" + ",\n".join(lines) + "\n]"


def _as_csv(found: Iterable[Found]) -> Iterator[str]:
    yield _row("document", "keyphrase", "probability", "present", "start", "end", "id", "new")
    for document, phrases, _ in found:
        for one in phrases:
            start, end = one.places[0] if one.places else ("", "")
            sure = "" if one.probability is None else repr(one.probability)
            yield _row(
                document.id or "", one.text, sure, one.present, start, end, one.id or "", one.new
            )


def _row(*cells: object) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(cells)
    return line.getvalue()


def _as_text(found: Iterable[Found]) -> Iterator[str]:
    for _, phrases, _ in found:
        yield "; ".join(one.text for one in phrases)


_FORMATS = {
    "json": _as_json,
    "jsonl": _as_jsonl,
    "csv": _as_csv,
    "text": _as_text,
}
