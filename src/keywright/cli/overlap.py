"""`keywright overlap`: what systems agree on, what each finds alone, what the gold may lack."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from keywright.cli._options import listed, one_of, progress
from keywright.cli._table import FORMATS

if TYPE_CHECKING:
    from keywright.analysis.overlap import Overlap, Split
    from keywright.analysis.systems import Panel
    from keywright.cli._table import Row
    from keywright.evaluate import Match

PARTS = ("present", "absent")
SCORES = tuple(f"{part}.F1@{cut}" for part in (*PARTS, "all") for cut in ("5", "M", "O"))


def register(app: typer.Typer) -> None:
    app.command("overlap")(overlap_command)


def overlap_command(
    systems: list[Path] = typer.Argument(
        help="Predictions of two or more systems, in any format we read."
    ),
    documents: Path = typer.Option(
        ..., help="Documents with gold keyphrases; for Chan/Ye text the ..._src.txt file."
    ),
    protocol: str = typer.Option("chan19", help="A published protocol, with parameters if wanted."),
    least: int | None = typer.Option(
        None,
        min=1,
        help="Systems that must give a phrase to make it a candidate for the gold. "
        "Default: more than half of them, no fewer than 2.",
    ),
    candidates: int = typer.Option(
        10, min=0, help="Candidates to print; JSON always has them all."
    ),
    names: list[str] = typer.Option([], help="Names of the systems. Default: from their files."),
    match: str = typer.Option("auto", help="Pair documents and predictions: auto | id | line."),
    output_format: str = typer.Option("table", "--format", help=" | ".join(FORMATS)),
) -> None:
    """Compare what systems say, not only how they score: shared phrases (right and wrong),
    complementary hits, candidates for missing gold, and the scores of their ensembles."""
    from keywright.analysis.systems import named, read_panel
    from keywright.errors import KeywrightError

    one_of("format", output_format, FORMATS)
    one_of("way to match", match, ("auto", "id", "line"))
    if len(systems) < 2:
        raise KeywrightError(f"overlap needs at least 2 systems, there is {len(systems)}")
    panel = read_panel(
        documents,
        named(systems, listed(names)),
        protocol=protocol,
        match=cast("Match", match),
        watch=progress,
    )
    found = _analyses(panel, least)
    if output_format == "json":
        import msgspec

        typer.echo(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
    else:
        typer.echo(_tables(found, output_format, candidates))


def _analyses(panel: Panel, least: int | None) -> dict[str, Any]:
    from keywright.analysis import overlap
    from keywright.analysis.ensemble import ensemble_scores

    return {
        "protocol": str(panel.protocol),
        "documents": len(panel.documents),
        "overlaps": overlap.overlaps(panel),
        "complements": [overlap.complement(panel, part) for part in PARTS],
        "agreed": [one for part in PARTS for one in overlap.agreed(panel, part)],
        "scores": ensemble_scores(panel, SCORES),
        "candidates": overlap.missing_gold(panel, least),
    }


def _tables(found: dict[str, Any], format: str, candidates: int) -> str:
    from keywright.cli._table import titled

    shown = found["candidates"][:candidates]
    tables: list[tuple[str, list[Row]]] = [
        ("Agreement: shared phrases / phrases of either", list(map(_agreement, found["overlaps"]))),
        (
            "Documents by agreement in %, shared phrases right+wrong",
            list(map(_brackets, found["overlaps"])),
        ),
        ("Precision by number of systems that give a phrase", list(map(_agreed, found["agreed"]))),
        ("Gold phrases found", [row for one in found["complements"] for row in _found(one)]),
        ("Scores of systems and their ensembles", _scores(found["scores"])),
    ]
    if shown:
        title = f"Missing from the gold? {len(shown)} of {len(found['candidates']):,} candidates"
        tables.append((title, list(map(_candidate, shown))))
    return titled(tables, format)


def _agreement(one: Overlap) -> Row:
    return {
        "systems": f"{one.a}, {one.b}",
        "part": one.part,
        "documents": one.documents,
        "agreement %": "" if one.agreement is None else f"{100 * one.agreement:.1f}",
        "shared": _split(one.shared),
        "only the first": _split(one.only_a),
        "only the second": _split(one.only_b),
    }


def _brackets(one: Overlap) -> Row:
    row: dict[str, str] = {"systems": f"{one.a}, {one.b}", "part": one.part}
    for bracket in one.brackets:
        name = f"{100 * bracket.low:.0f}-{100 * bracket.high:.0f}"
        row[name] = f"{bracket.documents} ({_split(bracket.shared)})"
    return row


def _split(split: Split) -> str:
    return f"{split.correct}+{split.wrong}"


def _agreed(one: Any) -> Row:
    return {
        "part": one.part,
        "systems": one.systems,
        "phrases": one.phrases.total,
        "right": one.phrases.correct,
        "precision %": "" if not one.phrases.total else f"{100 * one.phrases.precision:.1f}",
    }


def _found(one: Any) -> list[Row]:
    together = {
        "system": "all together",
        "part": one.part,
        "gold": one.gold,
        "found": sum(one.found_by[1:]),
        "by no other": "",
    }
    single = [
        {
            "system": name,
            "part": one.part,
            "gold": one.gold,
            "found": one.found[name],
            "by no other": one.alone[name],
        }
        for name in one.found
    ]
    return [*single, together]


def _scores(scores: dict[str, dict[str, float]]) -> list[Row]:
    from keywright.cli.evaluate import shown

    return [
        {"system": name, **{metric: shown(metric, value) for metric, value in row.items()}}
        for name, row in scores.items()
    ]


def _candidate(one: Any) -> Row:
    return {
        "document": one.document,
        "part": one.part,
        "phrase": one.text,
        "systems": len(one.systems),
    }
