"""`keywright compare`: which system is better, and is the difference significant?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

import typer

from keywright.cli._options import listed, one_of
from keywright.progress import progress
from keywright.tables import FORMATS

if TYPE_CHECKING:
    from keywright.analysis.significance import Comparison, Difference, Family, Test
    from keywright.evaluate import Match
    from keywright.tables import Row

TESTS = {
    "bootstrap": ("bootstrap",),
    "permutation": ("permutation",),
    "both": ("bootstrap", "permutation"),
}


def register(app: typer.Typer) -> None:
    app.command("compare")(compare_command)


def compare_command(
    systems: list[Path] = typer.Argument(
        help="Predictions of two or more systems, in any supported format."
    ),
    documents: Path = typer.Option(
        ..., help="Documents with gold keyphrases (for Chan/Ye text, the ..._src.txt file)."
    ),
    metrics: list[str] = typer.Option(
        [],
        help="Names such as present.F1@5 or present.micro.F1@M, 'standard' or 'all'. "
        "Default: F1@5, @M and @O of present and absent phrases.",
    ),
    protocol: str = typer.Option(
        "chan19", help="A published protocol, optionally with parameters (chan19:unk=valid)."
    ),
    setting: list[str] = typer.Option(
        [], "--set", help="A parameter of the protocol, KEY=VALUE (may be repeated)."
    ),
    test: str = typer.Option("both", help=" | ".join(TESTS)),
    classical: bool = typer.Option(
        False,
        "--classical",
        help="Add a t-test or, where normality is doubtful, Wilcoxon's test (needs scipy).",
    ),
    resamples: int = typer.Option(10_000, min=100, help="Number of resamples and of permutations."),
    baseline: str | None = typer.Option(
        None, help="Compare every system with this one (default: compare all pairs)."
    ),
    correction: str = typer.Option("holm", help="Correction of the p-values: holm | none."),
    family: str = typer.Option(
        "all",
        help="Which tests are corrected together: all | metric (those of one metric) | "
        "pair (those of one pair of systems).",
    ),
    names: list[str] = typer.Option(
        [], help="Names of the systems (default: taken from their files)."
    ),
    match: str = typer.Option(
        "auto", help="How documents and predictions are paired: auto | id | line."
    ),
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
    one_of("value of --match", match, ("auto", "id", "line"))
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

    from keywright.tables import remark, render

    if format == "json":
        return msgspec.json.format(msgspec.json.encode(comparison), indent=2).decode()
    if format == "tsv":
        return render([_full_row(difference) for difference in comparison.differences], "tsv")
    notes = [remark(note, format) for note in _notes(comparison)]
    blocks = [
        render(_score_rows(comparison), format),
        render([_row(difference) for difference in comparison.differences], format),
        ("\n" if format == "latex" else "\n\n").join(notes),
    ]
    return "\n\n".join(blocks)


def _score_rows(comparison: Comparison) -> list[Row]:
    from keywright.metric import Metric

    systems = comparison.scores
    first = next(iter(systems.values()))
    return [
        {"metric": name, **{system: show(systems[system][name]) for system in systems}}
        for name, show in ((name, Metric.parse(name).show) for name in first)
    ]


def _row(found: Difference) -> Row:
    from keywright.metric import Metric

    metric = Metric.parse(found.metric)
    low, high = map(metric.show, found.interval)
    row = {
        "metric": found.metric,
        "systems": f"{found.a} - {found.b}",
        "difference": metric.show(found.difference) + found.stars,
        "95% interval": f"{low} to {high}",
        "effect": "" if found.effect is None else f"{found.effect:.2f}",
        "+/=/-": f"{found.higher}/{found.equal}/{found.lower}",
    }
    for test, p in found.p.items():
        name = test if found.classical is None or test != "classical" else "t / Wilcoxon"
        row[f"p {name}"] = _shown_p(p)
        if found.corrected:
            row[f"Holm {name}"] = _shown_p(found.corrected[test])
    return row


def _full_row(found: Difference) -> Row:
    """A difference in full precision."""
    row: dict[str, str | int | float] = {
        "metric": found.metric,
        "a": found.a,
        "b": found.b,
        "score_a": found.score_a,
        "score_b": found.score_b,
        "difference": found.difference,
        "low": found.interval[0],
        "high": found.interval[1],
        "effect": "" if found.effect is None else found.effect,
        "higher": found.higher,
        "equal": found.equal,
        "lower": found.lower,
    }
    row |= {f"p_{test}": p for test, p in found.p.items()}
    row |= {f"holm_{test}": p for test, p in found.corrected.items()}
    return row


def _shown_p(p: float) -> str:
    return f"{p:.4f}" if p >= 0.0001 else "<0.0001"


def _notes(comparison: Comparison) -> list[str]:
    """What every column means, so that the table can be read on its own."""
    design = comparison.design
    m = f"{design.resamples:,}"
    tests = comparison.differences[0].p
    notes = [
        f"{comparison.documents:,} documents, protocol {comparison.protocol}. Scores are times "
        "100, counts as they are. Intervals: percentiles of the paired bootstrap. Effect: "
        "difference in standard deviations of a document's contribution. +/=/-: documents on which "
        "the first system scores higher, the same, lower.",
    ]
    if "bootstrap" in tests:
        notes.append(
            "p bootstrap: two-sided, (b + 1) / (m + 1), where b of m resamples have "
            f"|d* - d| >= |d|, m = {m}."
        )
    if "permutation" in tests:
        exact = (
            "; exact where every way to swap was counted"
            if any(difference.exact for difference in comparison.differences)
            else ""
        )
        notes.append(
            "p permutation: two-sided, (b + 1) / (m + 1), where b of m permutations have "
            f"|d*| >= |d|, m = {m}{exact}."
        )
    if "classical" in tests:
        notes.append(
            "p t / Wilcoxon: paired test of the documents' scores, Wilcoxon's where a test of "
            "normality fails at 0.05."
        )
    notes.append(_star_note(comparison))
    notes.append(comparison.signature)
    return notes


def _star_note(comparison: Comparison) -> str:
    from keywright.analysis.significance import STARS

    design = comparison.design
    levels = ", ".join(f"{stars} below {level}" for level, stars in reversed(STARS))
    if design.correction == "none":
        return f"Stars for the largest p of a row, not corrected: {levels}."
    family = {
        "all": "all tests of a kind",
        "metric": "the tests of a metric",
        "pair": "the tests of a pair of systems",
    }[design.family]
    return f"Holm: corrected over {family}. Stars for the largest corrected p of a row: {levels}."
