"""`keywright data`: convert, check, describe and build corpora."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer
from typer.core import TyperCommand

from keywright.cli._options import one_of
from keywright.tables import FORMATS

if TYPE_CHECKING:
    from keywright.corpora.fetch import Corpus
    from keywright.data.check import Report
    from keywright.data.stats import Statistics
    from keywright.evaluate import Match
    from keywright.tables import Row
    from keywright.types import ScoredPhrase

SHOWN = 5


class _ManyAgainst(TyperCommand):
    """`--against A B C`, because a shell expands `--against test/*` to that."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        spread: list[str] = []
        collecting = False
        for arg in args:
            if arg.startswith("-"):
                collecting = arg.partition("=")[0] == "--against"
            elif collecting and spread[-1] != "--against":
                spread.append("--against")
            spread.append(arg)
        return super().parse_args(ctx, spread)


def register(app: typer.Typer) -> None:
    data = typer.Typer(no_args_is_help=True, help="Convert, check and describe corpora.")
    data.command()(convert)
    data.command(cls=_ManyAgainst)(check)
    data.command()(stats)
    data.command()(stackexchange)
    data.command()(fetch)
    data.command()(label)
    app.add_typer(data, name="data")


def convert(
    source: str = typer.Argument(..., metavar="IN", help="A file, a folder or hf:NAME."),
    output: str = typer.Argument(..., metavar="OUT", help="The file to write; - prints."),
    from_: str | None = typer.Option(
        None, "--from", help="The format of IN (default: recognised)."
    ),
    to: str = typer.Option("keywright", "--to", help="keywright, meng or chan."),
    predictions: bool = typer.Option(False, help="IN contains predictions, not documents."),
) -> None:
    """Read documents (or predictions) in any format and write them in another.

    With --to chan, OUT is the ..._src.txt file; keyphrases are written to ..._trg.txt.
    """
    from keywright.data import documents as reading
    from keywright.data import predictions as predicted
    from keywright.data import writers
    from keywright.progress import progress

    if predictions:
        read = predicted.read_predictions(source, format=from_)
        count = writers.write_predictions(progress(read, f"Converting {source}"), output, to)
    else:
        texts = reading.read_documents(source, format=from_)
        count = writers.write_documents(progress(texts, f"Converting {source}"), output, to)
    kind = "predictions" if predictions else "documents"
    typer.echo(f"{count:,} {kind} written to {output} ({to})", err=True)


def stackexchange(
    dumps: list[Path] = typer.Argument(
        ..., metavar="DUMP...", help="Posts.xml of a site (also .gz, .xz, .zst), or its 7z archive."
    ),
    output: Path = typer.Option(..., help="A new folder for train.jsonl, valid.jsonl, test.jsonl."),
    valid: int = typer.Option(16_000, min=0, help="How many questions are for validation."),
    test: int = typer.Option(16_000, min=0, help="How many questions are for testing."),
    seed: int = typer.Option(1, min=0, help="Selects other questions."),
) -> None:
    """Build StackEx from the public dump of StackExchange: questions and their tags."""
    from keywright.corpora.stackexchange import Sizes, write
    from keywright.errors import DataError

    if output.exists():
        raise DataError("exists; name a new folder", output)
    counts = write(dumps, output, Sizes(valid, test, seed))
    shown = ", ".join(f"{name} {count:,}" for name, count in counts.items())
    typer.echo(f"{output}: {shown} questions", err=True)


def fetch(
    name: str | None = typer.Argument(None, metavar="NAME", help="A corpus; default: list them."),
    output: Path = typer.Option(Path("data"), help="The folder for its folder NAME."),
    file: list[str] = typer.Option([], help="Only this file of it. May be repeated."),
) -> None:
    """Fetch a published corpus, or list those that are known with size and licence.

    An interrupted command continues. It prints the checksums of the files and compares the numbers
    of documents with those that the publisher states.
    """
    from keywright.corpora import fetch as fetching
    from keywright.progress import counter
    from keywright.tables import render

    if name is None:
        rows = [_corpus_row(*entry) for entry in fetching.catalogue().items()]
        typer.echo(render(rows, "table"))
        return
    corpus, files = fetching.choose(name, file)
    typer.echo(f"{corpus.title}; licence: {corpus.licence}; {corpus.homepage}", err=True)
    for chosen in files:
        size = round(chosen.megabytes * 1_000_000)
        with counter(chosen.name, f"of about {size:,} bytes") as watch:
            found = fetching.fetch(corpus, chosen, output / name, watch)
        typer.echo(f"{found.path}: {found.documents:,} documents, SHA-256 {found.sha256}")
        if found.expected not in (None, found.documents):
            typer.echo(f"{found.path}: its publisher states {found.expected:,} documents", err=True)


def label(
    documents: Path = typer.Argument(..., metavar="DOCUMENTS", help="Documents in any format."),
    predictions: Path = typer.Argument(..., metavar="PREDICTIONS", help="What was predicted."),
    output: str = typer.Argument(..., metavar="OUT", help="The file to write; - prints."),
    most: int = typer.Option(5, min=1, help="At most this many phrases per document."),
    min_confidence: float = typer.Option(
        0.0,
        min=0,
        max=1,
        help="Leave out phrases with a lower confidence (1/KPP if none is stated).",
    ),
    match: str = typer.Option("auto", help="Pair documents and predictions: auto | id | line."),
) -> None:
    """Write documents whose keyphrases are predicted ones, as synthetic labels to train on.

    Documents without any are left out.
    """
    from itertools import chain

    import msgspec

    from keywright.data.documents import read_documents
    from keywright.data.writers import write_documents
    from keywright.errors import DataError
    from keywright.evaluate import pair
    from keywright.progress import progress
    from keywright.types import Prediction

    def chosen(prediction: Prediction) -> tuple[str, ...]:
        phrases = prediction.phrases
        if min_confidence:
            phrases = tuple(p for p in phrases if _confidence(p, predictions) >= min_confidence)
        return tuple(phrase.text for phrase in phrases[:most])

    one_of("value of --match", match, ("auto", "id", "line"))
    plain = (msgspec.structs.replace(x, keyphrases=()) for x in read_documents(documents))
    matched = progress(plain, "Labelling")
    labelled = (
        msgspec.structs.replace(document, keyphrases=keyphrases)
        for document, prediction in pair(matched, predictions, cast("Match", match))
        if (keyphrases := chosen(prediction))
    )
    first = next(labelled, None)
    if first is None:
        raise DataError(
            "has no such phrase for any of the documents, so none can be labelled", predictions
        )
    count = write_documents(chain([first], labelled), output)
    typer.echo(f"{output}: {count:,} documents", err=True)


def _confidence(phrase: ScoredPhrase, path: Path) -> float:
    from keywright.calibration.perplexity import known_confidence
    from keywright.errors import DataError

    found = known_confidence(phrase)
    if found is None:
        raise DataError(
            f"has no probability of {phrase.text!r}, which --min-confidence needs; leave it out",
            path,
        )
    return found


def _corpus_row(name: str, corpus: Corpus) -> Row:
    size = sum(file.megabytes for file in corpus.files)
    return {
        "name": name,
        "corpus": corpus.title,
        "MB": f"{size:,.0f}" if size else "by hand",
        "licence": corpus.licence,
    }


def check(
    files: list[str] = typer.Argument(..., help="Corpora in any format."),
    against: list[str] = typer.Option(
        [], "--against", help="Look for leaks into these corpora only (after FILES)."
    ),
    format: str = typer.Option("table", "--format", help="table or json."),
    from_: str | None = typer.Option(None, "--from", help="The format of all files."),
) -> None:
    """Find bad lines, repeated documents, missing gold, and documents that occur in two files.

    Without --against, all files are compared with each other. The exit code is 1 if anything was
    found.
    """
    import msgspec

    from keywright.data.check import check as check_corpora
    from keywright.progress import progress

    one_of("output format", format, ("json", "table"))
    report = check_corpora(files, against, format=from_, watch=progress)
    if format == "json":
        typer.echo(msgspec.json.format(msgspec.json.encode(report)))
    else:
        _print_report(report)
    if not report.clean:
        raise typer.Exit(1)


def _print_report(report: Report) -> None:
    from keywright.tables import render

    rows: list[Row] = [
        {
            "file": file.path,
            "documents": file.documents,
            "malformed": len(file.malformed),
            "repeated": len(file.repeats),
            "no gold": len(file.without_gold),
            "empty gold": len(file.empty_gold),
        }
        for file in report.files
    ]
    typer.echo(render(rows, "table"))
    for file in report.files:
        _print_some("malformed", file.malformed)
        _print_some(
            "repeated",
            [f"{file.path}:{r.line}: same {r.what} as {r.earlier}" for r in file.repeats],
        )
        _print_some("no gold", [f"{file.path}:{line}" for line in file.without_gold])
        _print_some("empty gold", [f"{file.path}:{line}" for line in file.empty_gold])
    _print_some(
        "leaks",
        [
            f"{leak.place} and {leak.other}: {'same title, ' if leak.same_title else ''}"
            f"{leak.share:.0%} of the shingles"
            for leak in report.leaks
        ],
    )


def _print_some(what: str, findings: Sequence[str]) -> None:
    if findings:
        typer.echo(f"\n{what} ({len(findings):,})")
        typer.echo("\n".join(f"  {finding}" for finding in findings[:SHOWN]))
        if len(findings) > SHOWN:
            typer.echo(f"  ... and {len(findings) - SHOWN:,} more (--format json lists all)")


def stats(
    files: list[str] = typer.Argument(..., help="Corpora in any format."),
    format: str = typer.Option("table", "--format", help=", ".join(FORMATS)),
    from_: str | None = typer.Option(None, "--from", help="The format of all files."),
    stemmed_gold: bool = typer.Option(
        False, help="The keyphrases are already stems (SemEval): do not stem them again."
    ),
) -> None:
    """Describe corpora as papers do: number of keyphrases, how many are present, and where."""
    from keywright.data.documents import read_documents
    from keywright.data.stats import statistics
    from keywright.progress import progress
    from keywright.tables import render

    one_of("output format", format, FORMATS)
    rows: list[Row] = []
    for path, label in zip(files, _labels(files), strict=True):
        documents = progress(read_documents(path, format=from_), f"Reading {path}")
        found = statistics(documents, stemmed_gold=stemmed_gold)
        if found.without_gold:
            typer.echo(f"{path}: {found.without_gold:,} documents have no gold", err=True)
        rows.append(_row(label, found))
    if format == "table":
        typer.echo(render(_columns(rows, _COUNTS), format))
        typer.echo("\nPresent keyphrases by the fifth of the text in which they first occur\n")
        typer.echo(render(_columns(rows, _SECTIONS), format))
    else:
        typer.echo(render(rows, format))


_COUNTS = (
    "file", "#Doc", "#KP", "Mean", "Var", "%Pre", "#PreDoc", "#PreKP", "#AbsDoc", "#AbsKP",
    "#pkp/doc", "#akp/doc",
)  # fmt: skip
_SECTIONS = ("file", "0-20", "20-40", "40-60", "60-80", "80-100")


def _row(label: str, found: Statistics) -> Row:
    counts = (
        label, found.documents, found.keyphrases, found.mean, found.variance,
        found.percent_present, found.with_present, found.present, found.with_absent, found.absent,
        found.present_per_document, found.absent_per_document,
    )  # fmt: skip
    return dict(zip((*_COUNTS, *_SECTIONS[1:]), (*counts, *found.sections), strict=True))


def _labels(files: Sequence[str]) -> list[str]:
    """File names if they are different, otherwise paths."""
    names = [file if file.startswith("hf:") else Path(file).name for file in files]
    return names if len(set(names)) == len(set(files)) else list(files)


def _columns(rows: Iterable[Row], names: Sequence[str]) -> list[Row]:
    return [{name: row[name] for name in names} for row in rows]
