"""`keywright analyse`: what lies behind the scores of one system or several."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from keywright.cli._options import listed, one_of, progress
from keywright.cli._table import FORMATS

if TYPE_CHECKING:
    from keywright.analysis.systems import Panel
    from keywright.cli._table import Row
    from keywright.evaluate import Match

PARTS = ("present", "absent")


def register(app: typer.Typer) -> None:
    app.command("analyse")(analyse_command)


def analyse_command(
    systems: list[Path] = typer.Argument(help="Predictions of systems, in any format we read."),
    documents: Path = typer.Option(
        ..., help="Documents with gold keyphrases; for Chan/Ye text the ..._src.txt file."
    ),
    protocol: str = typer.Option("chan19", help="A published protocol, with parameters if wanted."),
    names: list[str] = typer.Option([], help="Names of the systems. Default: from their files."),
    match: str = typer.Option("auto", help="Pair documents and predictions: auto | id | line."),
    output_format: str = typer.Option("table", "--format", help=" | ".join(FORMATS)),
) -> None:
    """Micro against macro, F1@M beside @5 and @O, how many phrases, how diverse, and how scores
    are spread over documents and phrases."""
    from keywright.analysis.systems import named, read_panel

    one_of("format", output_format, FORMATS)
    one_of("way to match", match, ("auto", "id", "line"))
    panel = read_panel(
        documents,
        named(systems, listed(names)),
        protocol=protocol,
        match=cast("Match", match),
        watch=progress,
    )
    found = _analyses(panel)
    if output_format == "json":
        import msgspec

        typer.echo(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
    else:
        typer.echo(_tables(found, output_format))


def _analyses(panel: Panel) -> dict[str, Any]:
    from keywright.analysis import averages, counts, distribution, diversity

    return {
        "protocol": str(panel.protocol),
        "documents": len(panel.documents),
        "macro_and_micro": averages.macro_and_micro(panel),
        "cutoffs": averages.cutoffs(panel),
        "numbers": [
            counts.numbers(panel, system, part)
            for system in panel.systems
            for part in (*PARTS, "all")
        ],
        "diversity": {
            system: diversity.diversity(made) for system, made in panel.predictions.items()
        },
        "distributions": [
            measured(panel, system, part)
            for measured in (distribution.fine_grained, distribution.token_f1)
            for system in panel.systems
            for part in PARTS
        ],
    }


def _tables(found: dict[str, Any], format: str) -> str:
    from keywright.cli._table import titled

    tables: list[tuple[str, list[Row]]] = [
        ("Macro against micro", list(map(_averages, found["macro_and_micro"]))),
        ("Macro F1 by cut-off", list(map(_cutoffs, found["cutoffs"]))),
        ("Numbers of phrases a document", list(map(_numbers, found["numbers"]))),
        (
            "Diversity, before any filter",
            [_diversity(system, one) for system, one in found["diversity"].items()],
        ),
        (
            "Scores in fifths: FG by document, token F1 by phrase, in %",
            list(map(_distribution, found["distributions"])),
        ),
    ]
    return titled(tables, format)


def _averages(one: Any) -> Row:
    return {
        "system": one.system,
        "metric": f"{one.part}.{one.measure}",
        "macro": 100 * one.macro,
        "micro": 100 * one.micro,
        "difference": 100 * one.difference,
    }


def _cutoffs(one: Any) -> Row:
    scores = {f"F1@{cut}": 100 * value for cut, value in one.f1.items()}
    return {"system": one.system, "part": one.part, **scores}


def _numbers(one: Any) -> Row:
    return {
        "system": one.system,
        "part": one.part,
        "predicted": one.predicted,
        "gold": one.gold,
        "mean error": one.mean_absolute_error,
        "more": one.more,
        "equal": one.equal,
        "fewer": one.fewer,
        "correlation": "" if one.correlation is None else one.correlation,
    }


def _diversity(system: str, one: Any) -> Row:
    return {
        "system": system,
        "phrases": one.phrases,
        "different": one.unique,
        "first words": one.first_words,
        "repeated %": 100 * one.repeated,
        "repeated first words %": 100 * one.repeated_first_words,
        "repeated words %": 100 * one.repeated_words,
    }


def _distribution(one: Any) -> Row:
    bins = len(one.counts)
    shares = {f"to {(i + 1) / bins:.1f}": 100 * share for i, share in enumerate(one.shares)}
    return {
        "system": one.system,
        "score": f"{one.part}.{one.what}",
        **shares,
        "exactly 1": 100 * one.perfect / max(1, one.total),
        "number": one.total,
    }
