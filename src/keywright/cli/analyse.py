"""`keywright analyse`: what is behind the scores of one or more systems."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from keywright.cli._options import listed, one_of
from keywright.progress import progress
from keywright.tables import FORMATS

if TYPE_CHECKING:
    from keywright.analysis.averages import Averages, Cutoffs
    from keywright.analysis.counts import Numbers
    from keywright.analysis.distribution import Distribution
    from keywright.analysis.diversity import Diversity
    from keywright.analysis.systems import Panel
    from keywright.evaluate import Match
    from keywright.matches import Part
    from keywright.tables import Row

PARTS: tuple[Part, ...] = ("present", "absent")


def register(app: typer.Typer) -> None:
    app.command("analyse")(analyse_command)


def analyse_command(
    systems: list[Path] = typer.Argument(help="Predictions of systems, in any supported format."),
    documents: Path = typer.Option(
        ..., help="Documents with gold keyphrases (for Chan/Ye text, the ..._src.txt file)."
    ),
    protocol: str = typer.Option(
        "chan19", help="A published protocol, optionally with parameters (chan19:unk=valid)."
    ),
    names: list[str] = typer.Option(
        [], help="Names of the systems (default: taken from their files)."
    ),
    match: str = typer.Option(
        "auto", help="How documents and predictions are paired: auto | id | line."
    ),
    output_format: str = typer.Option("table", "--format", help=" | ".join(FORMATS)),
) -> None:
    """Macro and micro averages, F1@M beside @5 and @O, how many phrases are predicted, how diverse
    they are, and how scores are distributed over documents and phrases."""
    from keywright.analysis.systems import named, read_panel

    one_of("format", output_format, FORMATS)
    one_of("value of --match", match, ("auto", "id", "line"))
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
    from keywright.tables import titled

    tables: list[tuple[str, list[Row]]] = [
        ("Macro and micro averages", list(map(_averages, found["macro_and_micro"]))),
        ("Macro F1 by cut-off", list(map(_cutoffs, found["cutoffs"]))),
        ("Phrases per document", list(map(_numbers, found["numbers"]))),
        (
            "Diversity, before any filter",
            [_diversity(system, measured) for system, measured in found["diversity"].items()],
        ),
        (
            "Scores in fifths: FG by document, token F1 by phrase, in %",
            list(map(_distribution, found["distributions"])),
        ),
    ]
    return titled(tables, format)


def _averages(averages: Averages) -> Row:
    return {
        "system": averages.system,
        "metric": f"{averages.part}.{averages.measure}",
        "macro": 100 * averages.macro,
        "micro": 100 * averages.micro,
        "difference": 100 * averages.difference,
    }


def _cutoffs(cutoffs: Cutoffs) -> Row:
    scores = {f"F1@{cut}": 100 * value for cut, value in cutoffs.f1.items()}
    return {"system": cutoffs.system, "part": cutoffs.part, **scores}


def _numbers(numbers: Numbers) -> Row:
    return {
        "system": numbers.system,
        "part": numbers.part,
        "predicted": numbers.predicted,
        "gold": numbers.gold,
        "mean error": numbers.mean_absolute_error,
        "more": numbers.more,
        "equal": numbers.equal,
        "fewer": numbers.fewer,
        "correlation": "" if numbers.correlation is None else numbers.correlation,
    }


def _diversity(system: str, found: Diversity) -> Row:
    return {
        "system": system,
        "phrases": found.phrases,
        "different": found.unique,
        "first words": found.first_words,
        "repeated %": 100 * found.repeated,
        "repeated first words %": 100 * found.repeated_first_words,
        "repeated words %": 100 * found.repeated_words,
    }


def _distribution(found: Distribution) -> Row:
    bins = len(found.counts)
    shares = {f"to {(i + 1) / bins:.1f}": 100 * share for i, share in enumerate(found.shares)}
    return {
        "system": found.system,
        "score": f"{found.part}.{found.what}",
        **shares,
        "exactly 1": 100 * found.perfect / max(1, found.total),
        "number": found.total,
    }
