"""`keywright correlate`: do metrics agree with people's ratings, and people with each other?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import typer

from keywright.cli._options import listed, one_of
from keywright.cli.report import ManyValues
from keywright.errors import KeywrightError
from keywright.progress import progress
from keywright.tables import FORMATS

if TYPE_CHECKING:
    from keywright.analysis.correlation import Estimate
    from keywright.analysis.judgement import Correlation, Judgement
    from keywright.analysis.ratings import Item, Ratings
    from keywright.evaluate import Match
    from keywright.tables import Row

TITLES = {"pearson": "Pearson", "spearman": "Spearman", "kendall": "Kendall"}
MEAN = "mean"


def register(app: typer.Typer) -> None:
    app.command("correlate", cls=ManyValues)(correlate_command)


def correlate_command(
    ratings: Path = typer.Option(
        ..., help="CSV or TSV with the columns document, annotator, rating, and system if needed."
    ),
    documents: Path | None = typer.Option(
        None, help="Documents with gold keyphrases; for Chan/Ye text the ..._src.txt file."
    ),
    predictions: list[Path] = typer.Option(
        [], help="The rated predictions, of one system or several: A.jsonl B.jsonl"
    ),
    metrics: list[str] = typer.Option(
        [],
        help="Names such as present.F1@5 or all.FG, 'standard' or 'all'. "
        "Default: F1@5, @M and @O of all phrases, F1@M of present and of absent ones.",
    ),
    scores: Path | None = typer.Option(
        None,
        help="Scores computed elsewhere: CSV, TSV or JSON lines with a document and its scores.",
    ),
    plot: Path | None = typer.Option(
        None, help="Draw every score against the mean rating: a name that ends in .svg or .png."
    ),
    protocol: str = typer.Option("chan19", help="A published protocol, with parameters if wanted."),
    setting: list[str] = typer.Option(
        [], "--set", help="A parameter of the protocol: KEY=VALUE. May be repeated."
    ),
    names: list[str] = typer.Option([], help="Names of the systems. Default: from their files."),
    match: str = typer.Option("auto", help="Pair documents and predictions: auto | id | line."),
    resamples: int = typer.Option(
        1000, min=0, help="Bootstrap resamples of documents for the 95% intervals; 0 for none."
    ),
    seed: int = typer.Option(0, min=0, help="Seed of the resamples."),
    output_format: str = typer.Option("table", "--format", help=" | ".join(FORMATS)),
) -> None:
    """Correlate metrics, or scores computed elsewhere, with people's ratings: Pearson, Spearman and
    Kendall with bootstrap intervals, and the agreement of the annotators."""
    from keywright import protocols
    from keywright.analysis import plotting
    from keywright.analysis import ratings as tables
    from keywright.analysis.correlation import Design
    from keywright.analysis.judgement import METRICS, judge, metric_scores
    from keywright.analysis.systems import named

    one_of("format", output_format, FORMATS)
    one_of("way to match", match, ("auto", "id", "line"))
    _check(documents, predictions, scores, metrics)
    if plot is not None:
        plotting.format_of(plot)
    rated = tables.read_ratings(ratings)
    found: dict[str, dict[Item, float]] = {}
    if documents is not None:
        found = metric_scores(
            documents,
            named(predictions, listed(names)),
            rated,
            metrics=listed(metrics) or METRICS,
            protocol=protocols.load(protocol, setting),
            match=cast("Match", match),
            watch=progress,
        )
    if scores is not None:
        found = _joined(found, tables.read_scores(scores, rated), scores)
    judgement = judge(rated, found, Design(resamples=resamples, seed=seed))
    if plot is not None:
        _draw(rated, found, judgement, plot)
    typer.echo(_rendered(judgement, output_format))


def _check(
    documents: Path | None, predictions: list[Path], scores: Path | None, metrics: list[str]
) -> None:
    if (documents is None) != (not predictions):
        raise KeywrightError("--documents and --predictions go together; one of them is missing")
    if documents is None and metrics:
        raise KeywrightError("--metrics needs --documents and --predictions to compute them from")
    if documents is None and scores is None:
        raise KeywrightError(
            "there is nothing to correlate with the ratings; name --documents and --predictions, "
            "or --scores, or all of them"
        )


def _joined(
    metrics: dict[str, dict[Item, float]], scores: dict[str, dict[Item, float]], path: Path
) -> dict[str, dict[Item, float]]:
    common = next((name for name in scores if name in metrics), None)
    if common is not None:
        raise KeywrightError(
            f"{path}: the score {common!r} has the name of a metric that is computed here; "
            "rename its column"
        )
    return {**metrics, **scores}


def _draw(
    ratings: Ratings, scores: dict[str, dict[Item, float]], judgement: Judgement, path: Path
) -> None:
    from keywright.analysis import plotting
    from keywright.analysis.scatter_plots import draw

    plotting.save(draw(ratings.means(), scores, judgement), path)


def _rendered(found: Judgement, format: str) -> str:
    import msgspec

    from keywright.tables import render, titled

    if format == "json":
        return msgspec.json.format(msgspec.json.encode(found), indent=2).decode()
    if format == "tsv":
        return render(_long_rows(found), "tsv")
    tables = [("Scores and ratings", [_row(row, found) for row in found.correlations])]
    if found.agreement is not None:
        pairs = [_pair_row(pair) for pair in found.agreement.pairwise]
        tables.append(("Pairs of annotators", pairs))
        tables.append(("Krippendorff's alpha of all annotators", _alpha_rows(found)))
    notes = _notes(found)
    if format == "latex":
        notes = [f"% {note}" for note in notes]
    return f"{titled(tables, format)}\n\n" + ("\n" if format == "latex" else "\n\n").join(notes)


def _row(pair: Correlation, found: Judgement) -> Row:
    raters = pair.b or _mean(found)
    return {"score": pair.a, "ratings": raters, "items": pair.items, **_shown(pair)}


def _pair_row(pair: Correlation) -> Row:
    return {"annotators": f"{pair.a} and {pair.b}", "items": pair.items, **_shown(pair)}


def _shown(pair: Correlation) -> dict[str, str]:
    return {TITLES[name]: _estimate(found) for name, found in pair.coefficients.items()}


def _alpha_rows(found: Judgement) -> list[Row]:
    if found.agreement is None:
        return []
    return [
        {"level": level, "items": found.agreement.items, "alpha": _estimate(alpha)}
        for level, alpha in found.agreement.alpha.items()
    ]


def _mean(found: Judgement) -> str:
    return found.annotators[0] if len(found.annotators) == 1 else MEAN


def _estimate(found: Estimate) -> str:
    if found.value is None:
        return "not defined"
    if found.interval is None:
        return f"{found.value:.3f}"
    low, high = found.interval
    return f"{found.value:.3f} ({low:.2f} to {high:.2f})"


def _long_rows(found: Judgement) -> list[Row]:
    """One coefficient per row, in full precision; an empty cell is not defined."""
    rows = []
    for pair in found.correlations:
        place: Row = {"between": "ratings", "a": pair.a, "b": pair.b or _mean(found)}
        rows += _estimate_rows(place, pair.items, pair.coefficients)
    if found.agreement is not None:
        for pair in found.agreement.pairwise:
            place = {"between": "annotators", "a": pair.a, "b": str(pair.b)}
            rows += _estimate_rows(place, pair.items, pair.coefficients)
        alphas = {f"alpha_{level}": alpha for level, alpha in found.agreement.alpha.items()}
        place = {"between": "annotators", "a": "all", "b": "all"}
        rows += _estimate_rows(place, found.agreement.items, alphas)
    return rows


def _estimate_rows(place: Row, items: int, estimates: dict[str, Estimate]) -> list[Row]:
    rows: list[Row] = []
    for name, found in estimates.items():
        low, high = found.interval or ("", "")
        value = "" if found.value is None else found.value
        rows.append(
            {
                **place,
                "items": items,
                "coefficient": name,
                "value": value,
                "low": low,
                "high": high,
            }
        )
    return rows


def _notes(found: Judgement) -> list[str]:
    people = len(found.annotators)
    counts = f"{found.documents:,} documents"
    if found.items != found.documents:
        counts = f"{found.items:,} predictions for {counts}"
    notes = [f"{counts}, {people} annotator{'s' if people > 1 else ''}. Kendall is tau-b."]
    if people > 1:
        notes[0] += f" Ratings '{MEAN}': the mean of the annotators who rated an item."
    if found.design.resamples:
        notes[0] += (
            f" In brackets: 95% intervals, percentiles of {found.design.resamples:,} bootstrap "
            "resamples of documents."
        )
    return notes + [f"Note: {note}." for note in found.notes]
