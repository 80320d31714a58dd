"""`keywright compare`: which system is better, and is the difference more than chance?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

import typer

from keywright.cli._options import listed, one_of, progress
from keywright.cli._table import FORMATS

if TYPE_CHECKING:
    from keywright.analysis.significance import Comparison, Difference, Family, Test
    from keywright.cli._table import Row
    from keywright.evaluate import Match

TESTS = {
    "bootstrap": ("bootstrap",),
    "permutation": ("permutation",),
    "both": ("bootstrap", "permutation"),
}
STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))


def register(app: typer.Typer) -> None:
    app.command("compare")(compare_command)


def compare_command(
    systems: list[Path] = typer.Argument(
        help="Predictions of two or more systems, in any format we read."
    ),
    documents: Path = typer.Option(
        ..., help="Documents with gold keyphrases; for Chan/Ye text the ..._src.txt file."
    ),
    metrics: list[str] = typer.Option(
        [],
        help="Names such as present.F1@5 or present.micro.F1@M, 'standard' or 'all'. "
        "Default: F1@5, @M and @O of present and absent phrases.",
    ),
    protocol: str = typer.Option("chan19", help="A published protocol, with parameters if wanted."),
    setting: list[str] = typer.Option(
        [], "--set", help="A parameter of the protocol: KEY=VALUE. May be repeated."
    ),
    test: str = typer.Option("both", help=" | ".join(TESTS)),
    classical: bool = typer.Option(
        False,
        "--classical",
        help="Also a t-test or, where normality is doubtful, Wilcoxon's test (needs scipy).",
    ),
    resamples: int = typer.Option(10_000, min=100, help="Resamples and permutations."),
    baseline: str | None = typer.Option(
        None, help="Compare every system with this one. Default: all pairs."
    ),
    correction: str = typer.Option("holm", help="Of the p-values: holm | none."),
    family: str = typer.Option(
        "all",
        help="Tests corrected together: all of them, those of one metric, or of one pair of "
        "systems: all | metric | pair.",
    ),
    names: list[str] = typer.Option([], help="Names of the systems. Default: from their files."),
    match: str = typer.Option("auto", help="Pair documents and predictions: auto | id | line."),
    seed: int = typer.Option(0, min=0, help="Seed of the resamples and permutations."),
    output_format: str = typer.Option("table", "--format", help=" | ".join(FORMATS)),
) -> None:
    """Compare systems on the same documents: differences with intervals, effect sizes and
    two-sided p-values of paired tests."""
    from keywright import protocols
    from keywright.analysis import significance
    from keywright.analysis.systems import named

    one_of("format", output_format, FORMATS)
    one_of("test", test, TESTS)
    one_of("correction", correction, ("holm", "none"))
    one_of("family", family, get_args(significance.Family))
    one_of("way to match", match, ("auto", "id", "line"))
    tests = TESTS[test] + (("classical",) if classical else ())
    comparison = significance.compare(
        documents,
        named(systems, listed(names)),
        metrics=listed(metrics) or significance.METRICS,
        protocol=protocols.load(protocol, setting),
        design=significance.Design(
            tests=cast("tuple[Test, ...]", tests),
            resamples=resamples,
            baseline=baseline,
            correction="holm" if correction == "holm" else "none",
            family=cast("Family", family),
            seed=seed,
        ),
        match=cast("Match", match),
        watch=progress,
    )
    typer.echo(_rendered(comparison, output_format))


def _rendered(comparison: Comparison, format: str) -> str:
    import msgspec

    from keywright.cli._table import render

    if format == "json":
        return msgspec.json.format(msgspec.json.encode(comparison), indent=2).decode()
    if format == "tsv":
        return render([_full_row(one) for one in comparison.differences], "tsv")
    notes = _notes(comparison)
    if format == "latex":
        notes = [f"% {note}" for note in notes]
    blocks = [
        render(_score_rows(comparison), format),
        render([_row(one) for one in comparison.differences], format),
        "\n".join(notes) if format == "latex" else "\n\n".join(notes),
    ]
    return "\n\n".join(blocks)


def _score_rows(comparison: Comparison) -> list[Row]:
    from keywright.cli.evaluate import shown

    systems = comparison.scores
    first = next(iter(systems.values()))
    return [
        {"metric": name, **{system: shown(name, systems[system][name]) for system in systems}}
        for name in first
    ]


def _row(one: Difference) -> Row:
    from keywright.cli.evaluate import shown

    low, high = (shown(one.metric, bound) for bound in one.interval)
    row = {
        "metric": one.metric,
        "systems": f"{one.a} - {one.b}",
        "difference": shown(one.metric, one.difference) + _stars(one),
        "95% interval": f"{low} to {high}",
        "effect": "" if one.effect is None else f"{one.effect:.2f}",
        "+/=/-": f"{one.higher}/{one.equal}/{one.lower}",
    }
    for test, p in one.p.items():
        name = test if one.classical is None or test != "classical" else "t / Wilcoxon"
        row[f"p {name}"] = _shown_p(p)
        if one.corrected:
            row[f"Holm {name}"] = _shown_p(one.corrected[test])
    return row


def _full_row(one: Difference) -> Row:
    """A difference in full precision."""
    row: dict[str, str | int | float] = {
        "metric": one.metric,
        "a": one.a,
        "b": one.b,
        "score_a": one.score_a,
        "score_b": one.score_b,
        "difference": one.difference,
        "low": one.interval[0],
        "high": one.interval[1],
        "effect": "" if one.effect is None else one.effect,
        "higher": one.higher,
        "equal": one.equal,
        "lower": one.lower,
    }
    row |= {f"p_{test}": p for test, p in one.p.items()}
    row |= {f"holm_{test}": p for test, p in one.corrected.items()}
    return row


def _stars(one: Difference) -> str:
    return next((stars for level, stars in STARS if one.worst_p < level), "")


def _shown_p(p: float) -> str:
    return f"{p:.4f}" if p >= 0.0001 else "<0.0001"


def _notes(comparison: Comparison) -> list[str]:
    """What every column means, so that the table can stand alone."""
    design = comparison.design
    m = f"{design.resamples:,}"
    one = comparison.differences[0]
    notes = [
        f"{comparison.documents:,} documents, protocol {comparison.protocol}. Scores times 100; "
        "counts as is. Intervals: percentiles of the paired bootstrap. Effect: difference in "
        "standard deviations of a document's contribution. +/=/-: documents on which the first "
        "system scores higher, the same, lower.",
    ]
    if "bootstrap" in one.p:
        notes.append(
            "p bootstrap: two-sided, (b + 1) / (m + 1), b the resamples with |d* - d| >= |d|, "
            f"m = {m}."
        )
    if "permutation" in one.p:
        exact = (
            "; exact where all ways to swap were taken"
            if any(difference.exact for difference in comparison.differences)
            else ""
        )
        notes.append(
            "p permutation: two-sided, (b + 1) / (m + 1), b the permutations with |d*| >= |d|, "
            f"m = {m}{exact}."
        )
    if "classical" in one.p:
        notes.append(
            "p t / Wilcoxon: paired test of the documents' scores, Wilcoxon's where a test of "
            "normality fails at 0.05."
        )
    notes.append(_star_note(comparison))
    notes.append(comparison.signature)
    return notes


def _star_note(comparison: Comparison) -> str:
    design = comparison.design
    levels = ", ".join(f"{stars} below {level}" for level, stars in reversed(STARS))
    if design.correction == "none":
        return f"Stars by the largest p of a row, not corrected: {levels}."
    family = {
        "all": "all tests of a kind",
        "metric": "the tests of a metric",
        "pair": "the tests of a pair of systems",
    }[design.family]
    return f"Holm: corrected over {family}. Stars by the largest corrected p of a row: {levels}."
