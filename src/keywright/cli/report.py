"""`keywright report`: one page about one or more systems, or the tables of it for papers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO, Any, cast

import typer
from typer.core import TyperCommand

from keywright.cli._options import listed, one_of
from keywright.progress import progress

FORMATS = ("html", "latex", "markdown")
SUFFIXES = {".md": "markdown", ".tex": "latex"}
MANY = ("--predictions", "--names")


class ManyValues(TyperCommand):
    """`--predictions a b c` means the same as writing the option three times."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, repeated(args))


def repeated(args: list[str]) -> list[str]:
    """Write an option of `MANY` again before each further value."""
    found: list[str] = []
    option = ""
    values = 0
    for argument in args:
        if argument.startswith("-"):
            option, values = (argument if argument in MANY else ""), 0
        elif option:
            values += 1
            if values > 1:
                found.append(option)
        found.append(argument)
    return found


def register(app: typer.Typer) -> None:
    app.command("report", cls=ManyValues)(report_command)


def report_command(
    documents: Path = typer.Option(
        ..., help="Documents with gold keyphrases (for Chan/Ye text, the ..._src.txt file)."
    ),
    predictions: list[Path] = typer.Option(
        ..., help="Predictions of one or more systems, in any supported format: A.jsonl B.jsonl"
    ),
    output: Path = typer.Option(..., help="File for the report."),
    output_format: str | None = typer.Option(
        None,
        "--format",
        help=f"{' | '.join(FORMATS)} (default: by the name of the output, otherwise html)",
    ),
    protocol: str = typer.Option(
        "chan19", help="A published protocol, optionally with parameters (chan19:unk=valid)."
    ),
    setting: list[str] = typer.Option(
        [], "--set", help="A parameter of the protocol, KEY=VALUE (may be repeated)."
    ),
    names: list[str] = typer.Option(
        [], help="Names of the systems (default: taken from their files)."
    ),
    match: str = typer.Option(
        "auto", help="How documents and predictions are paired: auto | id | line."
    ),
    resamples: int | None = typer.Option(
        None,
        min=100,
        help="Number of resamples and of permutations (default: 10,000, or more if many tests are "
        "corrected).",
    ),
    browse: int = typer.Option(1000, min=0, help="How many documents the page lets you browse."),
    seed: int = typer.Option(0, min=0, help="Seed of the resamples and permutations."),
) -> None:
    """Write a report: a summary in words, scores with significance, calibration, overlap, and
    every document with its phrases. One HTML page that works offline, or tables for papers."""
    from keywright import protocols
    from keywright.analysis.systems import named
    from keywright.evaluate import Match
    from keywright.files import atomic_write
    from keywright.report import card, html, latex, markdown
    from keywright.report.findings import Settings, gather

    format = one_of("format", output_format or SUFFIXES.get(output.suffix, "html"), FORMATS)
    one_of("value of --match", match, ("auto", "id", "line"))
    systems = named(predictions, listed(names))
    findings = gather(
        documents,
        systems,
        protocol=protocols.load(protocol, setting),
        settings=Settings(seed=seed, resamples=resamples),
        match=cast(Match, match),
        watch=progress,
    )
    lines = card.entries(findings, card.files(documents, systems), ["keywright", *sys.argv[1:]])
    if format == "html":
        text = html.render(findings, lines, browse)
    else:
        text = {"latex": latex, "markdown": markdown}[format].render(findings, lines)
    with atomic_write(output) as file:
        cast(IO[str], file).write(text)
    noun = "system" if len(systems) == 1 else "systems"
    typer.echo(f"{output}: {findings.documents:,} documents, {len(systems)} {noun}", err=True)
