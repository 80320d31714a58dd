"""`keywright generate`: keyphrases for files, folders or standard input."""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, cast

import typer

from keywright.cli._options import one_of, vocabulary_file
from keywright.errors import ConfigError, KeywrightError
from keywright.progress import progress

if TYPE_CHECKING:
    from keywright.cli._extend import Extension
    from keywright.cli._jobs import Failed, Found, Input, Outcome
    from keywright.data.table import Columns
    from keywright.generation.engine import Selection
    from keywright.generation.keyphrases import Keyphrase
    from keywright.types import Document

FORMATS = ("table", "json", "jsonl", "csv", "text")
VIEWS = ("phrases", "text")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
SOME_FAILED = 1
ALL_FAILED = 2
INTERRUPTED = 130


def register(app: typer.Typer) -> None:
    app.command("generate")(generate)


def generate(
    files: list[Path] = typer.Argument(
        help="Text, Markdown, PDF or HTML files, folders of them, tables (CSV, TSV, Excel, "
        "Parquet, JSON Lines), references (BibTeX, RIS, CSL), or - for standard input."
    ),
    model: str = typer.Option(
        "default",
        help="default (the model that comes with keywright), the folder of a trained, exported or "
        "fitted model, or an extractor such as textrank.",
    ),
    top: int | None = typer.Option(
        None,
        help="At most N keyphrases per document (0 = all); by default the number follows from the "
        "document.",
    ),
    min_confidence: float = typer.Option(
        0.0,
        "--min-confidence",
        "--min-probability",
        help="Omit keyphrases with a lower probability.",
    ),
    precision: float | None = typer.Option(
        None,
        help="Return as many keyphrases as possible with at least this expected precision, such as "
        "0.8.",
    ),
    present_only: bool = typer.Option(
        False, "--present-only", help="Only keyphrases that occur in the text."
    ),
    absent_only: bool = typer.Option(
        False, "--absent-only", help="Only keyphrases that do not occur in the text."
    ),
    output_format: str | None = typer.Option(
        None, "--format", help=" | ".join(FORMATS) + " (default: table)"
    ),
    show: str = typer.Option(
        "phrases", help="phrases: a table of them; text: the text with its phrases marked."
    ),
    output: Path | None = typer.Option(
        None,
        help="Write to this file instead of the screen. For a table, a .csv, .tsv, .jsonl or "
        ".parquet file is the same table with columns for keyphrases.",
    ),
    annotate: Path | None = typer.Option(
        None, help="Also write the PDF with its keyphrases highlighted to this file."
    ),
    column: str | None = typer.Option(
        None, help="Column with the texts of a table (default: the one with a usual name)."
    ),
    title_column: str | None = typer.Option(
        None, help="Column with the titles of a table (default: title)."
    ),
    keyphrases_column: str = typer.Option(
        "keyphrases", help="Name of the new column of a table; NAME_probability is another one."
    ),
    documents_format: str | None = typer.Option(
        None, help="Format of files with many documents (default: recognised); see docs/data.md."
    ),
    resume: bool = typer.Option(
        False, "--resume", help="Continue an interrupted table; start one if there is none."
    ),
    force: bool = typer.Option(False, "--force", help="Replace an existing table."),
    vocabulary: Path | None = typer.Option(
        None, help="A .csv, .tsv, .txt or SKOS file with the terms to use as keyphrases."
    ),
    vocabulary_mode: str = typer.Option(
        "only",
        help="only: omit keyphrases that match no term; mark: keep them, marked as new.",
    ),
    vocabulary_language: str = typer.Option("en", help="Language of the SKOS labels to read."),
    vocabulary_fuzzy: float | None = typer.Option(
        None,
        help="Also match names with typing errors, at this similarity or more, such as 0.92.",
    ),
    calibration: Path | None = typer.Option(
        None,
        help="A file that `keywright calibrate --fit` wrote, for probabilities that suit your "
        "documents.",
    ),
    jobs: int = typer.Option(1, min=1, help="Number of processes."),
) -> None:
    """Generate keyphrases for documents.

    A file that cannot be read is reported and does not stop the others. The exit code is then 1, or
    2 if no file could be read.
    """
    from keywright.cli._jobs import chunk_size, outcomes
    from keywright.generation.engine import Selection
    from keywright.generation.job import Job

    one_of("format", output_format or "table", FORMATS)
    one_of("view", show, VIEWS)
    if show == "text" and output_format not in (None, "table"):
        raise ConfigError(f"--show text is for people; --format {output_format} has no such view")
    selection = Selection(top, min_confidence, not absent_only, not present_only, precision)
    inputs = list(_inputs(files))
    reading = _Reading(_columns(column, title_column), _known_format(documents_format))
    total = _total(inputs, reading)
    pdf = None if annotate is None else _pdf(inputs, annotate)
    chosen = vocabulary_file(vocabulary, vocabulary_mode, vocabulary_language, vocabulary_fuzzy)
    threads = 1 if jobs > 1 else None
    job = Job(model, selection, threads=threads, vocabulary=chosen, calibration=calibration)
    plain = output_format is not None or show == "text"
    extension = None if plain else _extension(inputs, output, reading, keyphrases_column)
    if extension is not None:
        from keywright.cli._extend import extend

        extend(extension, job, jobs, resume=resume, force=force)
        return
    if resume or force:
        raise ConfigError("--resume and --force are for a table that is written with --output")
    made = outcomes(_each(inputs, reading), job, jobs, chunk_size(total, jobs))
    failed: list[Failed] = []
    try:
        with closing(made):
            found = _reported(progress(made, "Generating", total), failed)
            if annotate is not None and pdf is not None:
                found = _annotated(found, pdf, annotate)
            if show == "text":
                colour = output is None and _has_colours()
                width = _terminal_width() if output is None else None
                _write(_as_marked(found, colour=colour, width=width), output)
            else:
                _write(_lines(found, output_format or "table", selection), output)
    except KeyboardInterrupt:
        typer.echo("keywright: interrupted", err=True)
        sys.exit(INTERRUPTED)
    if failed:
        typer.echo(f"{len(failed)} of the files could not be read", err=True)
        raise typer.Exit(SOME_FAILED)


def _inputs(files: list[Path]) -> Iterator[Input]:
    """Every file, including those of folders; a missing file is a failure like any other."""
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


class _Reading(NamedTuple):
    """How to read files with many documents."""

    columns: Columns | None
    format: str | None

    def is_many(self, item: Input) -> bool:
        """Whether an input has many documents, which are read one by one."""
        from keywright.sources import is_corpus

        given = self.columns is not None or self.format is not None
        return isinstance(item, Path) and (given or is_corpus(item))


def _columns(text: str | None, title: str | None) -> Columns | None:
    from keywright.data.table import Columns

    return None if text is title is None else Columns(text, title)


def _known_format(name: str | None) -> str | None:
    from keywright.data.documents import formats

    return None if name is None else one_of("documents format", name, formats())


def _extension(
    inputs: list[Input], output: Path | None, reading: _Reading, name: str
) -> Extension | None:
    """The table to add keyphrases to, if one was given and `output` is a table."""
    from keywright.cli._extend import Extension
    from keywright.data import tabular
    from keywright.sources import is_table

    if output is None or tabular.suffix(output) not in tabular.KINDS or reading.format:
        return None
    tables = [item for item in inputs if isinstance(item, Path) and is_table(item, reading.columns)]
    if not tables:
        return None
    if len(inputs) > 1:
        raise ConfigError(
            f"{output}: one table at a time can be written with its keyphrases; --format csv "
            "writes a list of keyphrases of all files"
        )
    return Extension(tables[0], output, reading.columns, name)


def _total(inputs: list[Input], reading: _Reading) -> int | None:
    """How many outcomes there will be, None if that is known only after reading."""
    try:
        many = any(map(reading.is_many, inputs))
    except KeywrightError:  # a file that cannot be read, which is reported in its turn
        many = True
    return None if many else len(inputs)


def _each(inputs: list[Input], reading: _Reading) -> Iterator[Input]:
    """The documents of files with many documents, and all other inputs as they are."""
    from keywright.cli._jobs import Failed
    from keywright.sources import read_source

    for item in inputs:
        try:
            if isinstance(item, Path) and reading.is_many(item):
                yield from read_source(item, reading.columns, reading.format)
            else:
                yield item
        except KeywrightError as error:
            yield Failed(str(error))


def _reported(made: Iterable[Outcome], failed: list[Failed]) -> Iterator[Found]:
    """The keyphrases; failures and warnings are written to standard error.

    If nothing could be read, it ends with an error, so that no empty output replaces a file.
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


def _pdf(inputs: list[Input], output: Path) -> bytes:
    """The content of the only input, which must be a PDF and is not to be replaced."""
    from keywright.sources import pdf

    paths = [item for item in inputs if isinstance(item, Path)]
    content = paths[0].read_bytes() if len(inputs) == len(paths) == 1 else b""
    if not pdf.recognise(content, ""):
        raise ConfigError("--annotate needs exactly one file, a PDF")
    if output.exists() and output.samefile(paths[0]):
        raise ConfigError(f"--annotate {output} would replace the PDF itself; give another name")
    return content


def _annotated(found: Iterable[Found], pdf: bytes, output: Path) -> Iterator[Found]:
    """The same; the PDF is written with highlights before its keyphrases are shown."""
    from keywright.files import atomic_write
    from keywright.generation.annotate import annotated

    for outcome in found:
        made = annotated(pdf, outcome.document, outcome.keyphrases)
        with atomic_write(output, "wb") as file:
            cast(IO[bytes], file).write(made)
        yield outcome


def _write(lines: Iterator[str], output: Path | None) -> None:
    if output is None:
        for line in lines:
            typer.echo(line)
        return
    from keywright.files import atomic_write, exclusive

    with exclusive(output), atomic_write(output) as file:
        for line in lines:
            file.write(line + "\n")  # type: ignore[call-overload]


def _lines(found: Iterable[Found], output_format: str, selection: Selection) -> Iterator[str]:
    if output_format == "table":
        return _as_table(found, _nothing(selection))
    return _FORMATS[output_format](found)


def _nothing(selection: Selection) -> str:
    """The message for a document without keyphrases, with the option that may be the reason."""
    if selection.precision is not None:
        return f"no keyphrases with an expected precision of {selection.precision:.0%} or more"
    if selection.min_confidence > 0:
        return f"no keyphrases with a probability of {selection.min_confidence:.0%} or more"
    return "no keyphrases"


def _as_table(found: Iterable[Found], nothing: str) -> Iterator[str]:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text  # in a str, [brackets] would be markup

    for document, phrases, _ in found:
        name = _name(document)
        table = Table(title=Text(name), title_justify="left")
        table.add_column("keyphrase")
        table.add_column("probability", justify="right")
        table.add_column("in the text")
        controlled = any(phrase.new or phrase.written is not None for phrase in phrases)
        if controlled:
            table.add_column("vocabulary")
        for phrase in phrases:
            probability = "" if phrase.probability is None else f"{phrase.probability:.0%}"
            where = f"{len(phrase.places)} ×" if phrase.present else "absent"
            where += ", stated" if phrase.stated else ""
            cells = [Text(phrase.text), Text(probability), Text(where)]
            table.add_row(*cells, *([Text(_term(phrase))] if controlled else []))
        screen = Console(file=io.StringIO(), width=Console().width)
        screen.print(table if phrases else Text(f"{name}: {nothing}"))
        yield screen.file.getvalue().rstrip("\n")  # type: ignore[attr-defined]


def _has_colours() -> bool:
    """Whether a person watches, who has not asked for text without colours (no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _terminal_width() -> int | None:
    """The columns of the terminal; None if the output is a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _as_marked(found: Iterable[Found], *, colour: bool, width: int | None = None) -> Iterator[str]:
    """Texts in which the phrases are coloured by their probability, or between asterisks.

    They are folded to `width` columns, if it is given.
    """
    from keywright.generation.found import marks

    for document, phrases, _ in found:
        shown = _CONTROL.sub(" ", document.text)
        if width is not None:
            shown = _fitted(shown, document, phrases, width, 0 if colour else len(_ASTERISKS))
        pieces = [
            text if phrase is None else _marked(text, phrase, colour)
            for text, phrase in marks(shown, phrases)
        ]
        yield "".join(pieces).rstrip()
        yield _absent_line(phrases, colour=colour, width=width)


def _fitted(
    text: str, document: Document, phrases: Sequence[Keyphrase], width: int, mark: int
) -> str:
    """The text folded to a width, of which each mark of a phrase takes `mark` columns."""
    from keywright.cli._folding import flowing, folded
    from keywright.generation.found import marks

    extra: Counter[int] = Counter()
    at = 0
    for piece, phrase in marks(text, phrases):
        if phrase is not None:
            extra[at] += mark
            extra[at + len(piece) - 1] += mark  # the mark must not be cut from its last word
        at += len(piece)
    title = len(document.title) + 1 if document.title else 0
    return folded(flowing(text, title), width, extra)


def _absent_line(phrases: Iterable[Keyphrase], *, colour: bool, width: int | None) -> str:
    """The phrases that are not in the text, folded to a width if it is given."""
    from keywright.cli._folding import folded

    absent = [phrase for phrase in phrases if not phrase.present]
    if not absent:
        return ""
    line = "Not in the text:"
    spans: list[tuple[int, int, Keyphrase]] = []
    for phrase in absent:
        start = len(line) + 1
        line += f" {_CONTROL.sub(' ', phrase.text)}"
        spans.append((start, len(line), phrase))
        line += "," if phrase is not absent[-1] else ""
    if width is not None:
        mark = 0 if colour else len(_ASTERISKS)
        ends = [at for start, end, _ in spans for at in (start, end - 1)]
        line = folded(line, width, {at: mark * count for at, count in Counter(ends).items()})
    pieces, done = [], 0
    for start, end, phrase in spans:
        pieces += [line[done:start], _marked(line[start:end], phrase, colour)]
        done = end
    return f"\n{''.join(pieces)}{line[done:]}\n"


def _marked(text: str, phrase: Keyphrase, colour: bool) -> str:
    if not colour:
        return f"{_ASTERISKS}{text}{_ASTERISKS}"
    probability = 1.0 if phrase.probability is None else phrase.probability
    code = next(code for least, code in _COLOURS if probability >= least)
    return f"\x1b[{code}m{text}\x1b[0m"


_ASTERISKS = "**"
# By the least probability: bold green, green, cyan.
_COLOURS = ((0.3, "1;32"), (0.1, "32"), (0.0, "36"))


def _term(phrase: Keyphrase) -> str:
    """The identifier of a phrase in the vocabulary."""
    return "new" if phrase.new else phrase.id or "known"


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
        for phrase in phrases:
            start, end = phrase.places[0] if phrase.places else ("", "")
            probability = "" if phrase.probability is None else repr(phrase.probability)
            place = phrase.present, start, end
            yield _row(
                document.id or "", phrase.text, probability, *place, phrase.id or "", phrase.new
            )


def _row(*cells: object) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(cells)
    return line.getvalue()


def _as_text(found: Iterable[Found]) -> Iterator[str]:
    for _, phrases, _ in found:
        yield "; ".join(phrase.text for phrase in phrases)


_FORMATS = {
    "json": _as_json,
    "jsonl": _as_jsonl,
    "csv": _as_csv,
    "text": _as_text,
}
