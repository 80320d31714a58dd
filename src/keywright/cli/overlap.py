"""`keywright overlap`: what systems agree on, what each finds alone, what the gold may lack."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from keywright.cli._options import listed, one_of
from keywright.progress import progress
from keywright.tables import FORMATS

if TYPE_CHECKING:
    from keywright.analysis.overlap import Agreed, Complement, MissingGold, Overlap, Split
    from keywright.analysis.systems import Panel
    from keywright.evaluate import Match
    from keywright.matches import Part
    from keywright.tables import Row

PARTS: tuple[Part, ...] = ("present", "absent")
SCORES = tuple(f"{part}.F1@{cut}" for part in (*PARTS, "all") for cut in ("5", "M", "O"))


def register(app: typer.Typer) -> None:
    app.command("overlap")(overlap_command)


def overlap_command(
    systems: list[Path] = typer.Argument(
        help="Predictions of two or more systems, in any supported format."
    ),
    documents: Path = typer.Option(
        ..., help="Documents with gold keyphrases (for Chan/Ye text, the ..._src.txt file)."
    ),
    protocol: str = typer.Option(
        "chan19", help="A published protocol, optionally with parameters (chan19:unk=valid)."
    ),
    least: int | None = typer.Option(
        None,
        min=1,
        help="How many systems must predict a phrase to make it a candidate for missing gold "
        "(default: more than half of them, at least 2).",
    ),
    candidates: int = typer.Option(
        10, min=0, help="How many candidates to print (JSON always has all of them)."
    ),
    names: list[str] = typer.Option(
        [], help="Names of the systems (default: taken from their files)."
    ),
    match: str = typer.Option(
        "auto", help="How documents and predictions are paired: auto | id | line."
    ),
    output_format: str = typer.Option("table", "--format", help=" | ".join(FORMATS)),
) -> None:
    """Compare what systems predict, not only how they score: shared phrases (right and wrong),
    complementary hits, candidates for missing gold, and the scores of their ensembles."""
    from keywright.analysis.systems import named, read_panel
    from keywright.errors import KeywrightError

    one_of("format", output_format, FORMATS)
    one_of("value of --match", match, ("auto", "id", "line"))
    if len(systems) < 2:
        raise KeywrightError(f"overlap needs at least 2 systems, but there is only {len(systems)}")
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
        "agreed": [found for part in PARTS for found in overlap.agreed(panel, part)],
        "scores": ensemble_scores(panel, SCORES),
        "candidates": overlap.missing_gold(panel, least),
    }


def _tables(found: dict[str, Any], format: str, candidates: int) -> str:
    from keywright.tables import titled

    shown = found["candidates"][:candidates]
    tables: list[tuple[str, list[Row]]] = [
        ("Agreement: shared phrases / phrases of either", list(map(_agreement, found["overlaps"]))),
        (
            "Documents by agreement in %, shared phrases right+wrong",
            list(map(_brackets, found["overlaps"])),
        ),
        (
            "Precision by the number of systems that predict a phrase",
            list(map(_agreed, found["agreed"])),
        ),
        (
            "Gold phrases found",
            [row for complement in found["complements"] for row in _found(complement)],
        ),
        ("Scores of systems and their ensembles", _scores(found["scores"])),
    ]
    if shown:
        title = f"Missing from the gold? {len(shown)} of {len(found['candidates']):,} candidates"
        tables.append((title, list(map(_candidate, shown))))
    return titled(tables, format)


def _agreement(overlap: Overlap) -> Row:
    return {
        "systems": f"{overlap.a}, {overlap.b}",
        "part": overlap.part,
        "documents": overlap.documents,
        "agreement %": _percent(overlap.agreement),
        "shared": _split(overlap.shared),
        "only the first": _split(overlap.only_a),
        "only the second": _split(overlap.only_b),
    }


def _brackets(overlap: Overlap) -> Row:
    row: dict[str, str] = {"systems": f"{overlap.a}, {overlap.b}", "part": overlap.part}
    for bracket in overlap.brackets:
        name = f"{100 * bracket.low:.0f}-{100 * bracket.high:.0f}"
        row[name] = f"{bracket.documents} ({_split(bracket.shared)})"
    return row


def _split(split: Split) -> str:
    return f"{split.correct}+{split.wrong}"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"


def _agreed(agreed: Agreed) -> Row:
    return {
        "part": agreed.part,
        "systems": agreed.systems,
        "phrases": agreed.phrases.total,
        "right": agreed.phrases.correct,
        "precision %": _percent(agreed.phrases.precision),
    }


def _found(complement: Complement) -> list[Row]:
    rows: list[Row] = [
        {
            "system": name,
            "part": complement.part,
            "gold": complement.gold,
            "found": found,
            "by no other": complement.alone[name],
        }
        for name, found in complement.found.items()
    ]
    together: Row = {
        "system": "all together",
        "part": complement.part,
        "gold": complement.gold,
        "found": sum(complement.found_by[1:]),
        "by no other": "",
    }
    return [*rows, together]


def _scores(scores: dict[str, dict[str, float]]) -> list[Row]:
    from keywright.metric import Metric

    return [
        {
            "system": system,
            **{metric: Metric.parse(metric).show(value) for metric, value in values.items()},
        }
        for system, values in scores.items()
    ]


def _candidate(candidate: MissingGold) -> Row:
    return {
        "document": candidate.document,
        "part": candidate.part,
        "phrase": candidate.text,
        "systems": len(candidate.systems),
    }
