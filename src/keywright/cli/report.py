"""`keywright report`: one page on one system or several, for people; tables for papers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO, Any, cast

import typer
from typer.core import TyperCommand

from keywright.cli._options import listed, one_of, progress

FORMATS = ("html", "latex", "markdown")
SUFFIXES = {".md": "markdown", ".tex": "latex"}
MANY = ("--predictions", "--names")


class ManyValues(TyperCommand):
    """`--predictions a b c` means the same as naming the option three times."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, repeated(args))


def repeated(args: list[str]) -> list[str]:
    """Name an option of `MANY` again before each of its further values."""
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
        ..., help="Documents with gold keyphrases; for Chan/Ye text the ..._src.txt file."
    ),
    predictions: list[Path] = typer.Option(
        ..., help="Predictions of one system or several, in any format we read: A.jsonl B.jsonl"
    ),
    output: Path = typer.Option(..., help="The report's file."),
    output_format: str | None = typer.Option(
        None, "--format", help=f"{' | '.join(FORMATS)}. Default: by the output's name, else html."
    ),
    protocol: str = typer.Option("chan19", help="A published protocol, with parameters if wanted."),
    setting: list[str] = typer.Option(
        [], "--set", help="A parameter of the protocol: KEY=VALUE. May be repeated."
    ),
    names: list[str] = typer.Option([], help="Names of the systems. Default: from their files."),
    match: str = typer.Option("auto", help="Pair documents and predictions: auto | id | line."),
    resamples: int | None = typer.Option(
        None,
        min=100,
        help="Resamples and permutations. Default: 10,000, more where many tests are corrected.",
    ),
    browse: int = typer.Option(1000, min=0, help="Documents in the page's browser."),
    seed: int = typer.Option(0, min=0, help="Seed of the resamples and permutations."),
) -> None:
    """Write a report: a summary in words, scores with significance, calibration, overlap, and
    every document with its phrases. One HTML page without network, or tables for papers."""
    from keywright import protocols
    from keywright.analysis.systems import named
    from keywright.evaluate import Match
    from keywright.files import atomic_write
    from keywright.report import card, html, latex, markdown
    from keywright.report.findings import Settings, gather

    format = one_of("format", output_format or SUFFIXES.get(output.suffix, "html"), FORMATS)
    one_of("way to match", match, ("auto", "id", "line"))
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
    typer.echo(f"{output}: {findings.documents:,} documents, {len(systems)} systems", err=True)
