"""`keywright calibrate`: how far a model's confidence can be trusted, and how to correct it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from keywright.cli._options import listed, one_of
from keywright.errors import KeywrightError
from keywright.progress import progress
from keywright.tables import FORMATS

if TYPE_CHECKING:
    from keywright.calibration.bootstrap import Interval
    from keywright.calibration.calibrate import (
        Calibration,
        Gathered,
        PartCalibration,
        Recalibration,
    )
    from keywright.calibration.sample import Sample
    from keywright.calibration.threshold import Threshold
    from keywright.evaluate import Pair
    from keywright.metric import Array
    from keywright.tables import Row, Value
    from keywright.types import Prediction

PARTS = ("present", "absent", "all")
SCORES = {
    "ECE": "expected calibration error (ECE)",
    "MCE": "maximum calibration error (MCE)",
    "ACE": "adaptive calibration error (ACE)",
    "Brier": "Brier score",
    "AUROC": "AUROC",
}
# Whether recalibration helped: calibration, overall quality, and separation of right from wrong.
COMPARED = ("ECE", "Brier", "AUROC")


@dataclass(frozen=True)
class Options:
    """The options of the command line."""

    documents: Path
    predictions: Path
    match: Any
    protocol: str
    fit: str | None
    features: tuple[str, ...]
    apply: Path | None
    output: Path | None
    precision: float | None
    confidence: Any
    kpp_by: Any
    folds: int
    bins: int
    resamples: int
    seed: int

    @property
    def intervals(self) -> dict[str, int]:
        return {"resamples": self.resamples, "seed": self.seed}


@dataclass(frozen=True)
class Report:
    """What was measured; `notes` say what was not, and why."""

    calibration: Calibration
    recalibration: Recalibration | None
    recalibrated_by: str | None
    thresholds: tuple[Threshold, ...]
    notes: tuple[str, ...]


def register(app: typer.Typer) -> None:
    app.command("calibrate")(calibrate_command)


def calibrate_command(
    documents: Path = typer.Option(..., help="Documents with gold keyphrases."),
    predictions: Path = typer.Option(
        ..., help="Predicted phrases with token probabilities or confidences."
    ),
    protocol: str = typer.Option(
        "chan19",
        help="A published protocol, which decides what counts as a phrase, as present and as "
        "correct (with --apply, the recalibrator's own protocol is used).",
    ),
    fit: str | None = typer.Option(
        None, help="Fit a recalibrator: temperature | platt | isotonic | beta | logistic."
    ),
    features: list[str] = typer.Option(
        [],
        help="Features of --fit logistic: length, rank, position (default: all of them).",
    ),
    apply: Path | None = typer.Option(None, help="Recalibrator to apply to the predictions."),
    output: Path | None = typer.Option(
        None, help="File for the recalibrator (--fit) or for the predictions (--apply)."
    ),
    threshold_for: str | None = typer.Option(
        None, help="Find the threshold that gives a precision, and its recall: precision=0.8."
    ),
    plots: Path | None = typer.Option(None, help="Folder for plots of what is measured."),
    plot_format: str = typer.Option("svg", help="svg | png"),
    output_format: str = typer.Option("table", "--format", help=" | ".join(FORMATS)),
    confidence: str = typer.Option(
        "auto",
        help="Which confidence to judge: kpp (1/KPP), stated (in the predictions) or auto (stated "
        "if all phrases have it; with --fit, kpp if any phrase has it).",
    ),
    kpp_by: str = typer.Option(
        "words", help="Normalise perplexity by words (KPP-s for subword models) or by tokens."
    ),
    bins: int = typer.Option(10, min=1, help="Number of bins of the calibration errors."),
    folds: int = typer.Option(5, min=2, help="Number of folds of the cross-validation."),
    match: str = typer.Option(
        "auto", help="How documents and predictions are paired: auto | id | line."
    ),
    resamples: int = typer.Option(
        1000, min=0, help="Bootstrap resamples for the 95% intervals (0 = no intervals)."
    ),
    seed: int = typer.Option(0, min=0, help="Seed of the resamples and the folds."),
) -> None:
    """Measure calibration, fit and apply recalibration, find the threshold for a precision."""
    from keywright.analysis import calibration_plots, plotting

    one_of("format", output_format, FORMATS)
    one_of("plot format", plot_format, plotting.FORMATS)
    one_of("value of --confidence", confidence, ("auto", "kpp", "stated"))
    one_of("value of --kpp-by", kpp_by, ("words", "tokens"))
    one_of("value of --match", match, ("auto", "id", "line"))
    options = Options(
        documents=documents,
        predictions=predictions,
        match=match,
        protocol=protocol,
        fit=fit,
        features=tuple(listed(features)),
        apply=apply,
        output=output,
        precision=_precision(threshold_for),
        confidence=confidence,
        kpp_by=kpp_by,
        folds=folds,
        bins=bins,
        resamples=resamples,
        seed=seed,
    )
    _check(options)
    report = _report(options)
    if report is None:
        typer.echo("The documents have no gold keyphrases, so nothing was measured.", err=True)
        return
    if plots is not None:
        figures = calibration_plots.draw(report.calibration, predictions.name)
        calibration_plots.save(figures, plots, plot_format)
    if output_format == "json":
        typer.echo(_json(report))
    elif output_format == "tsv":
        typer.echo(_tsv(report))
    else:
        typer.echo(_tables(report, output_format))


def _precision(threshold_for: str | None) -> float | None:
    if threshold_for is None:
        return None
    name, _, value = threshold_for.partition("=")
    try:
        wanted = float(value)
    except ValueError:
        wanted = float("nan")
    if name != "precision" or not 0 < wanted <= 1:
        raise KeywrightError(
            f"--threshold-for {threshold_for!r} is not valid; write precision= and a number "
            "greater than 0 and at most 1, for example precision=0.8"
        )
    return wanted


def _check(options: Options) -> None:
    from keywright.calibration.fit import FEATURES, METHODS

    if options.fit is not None:
        one_of("recalibration method", options.fit, METHODS)
    for name in options.features:
        one_of("feature of a phrase", name, FEATURES)
    if options.fit is not None and options.apply is not None:
        raise KeywrightError(
            "--fit and --apply cannot be combined: fit on some documents, then apply to others"
        )
    if options.output is not None and options.fit is None and options.apply is None:
        raise KeywrightError(
            "--output needs --fit (to write a recalibrator) or --apply (to write predictions)"
        )
    if options.features and options.fit != "logistic":
        raise KeywrightError(
            "--features needs --fit logistic; the other methods use only the confidence"
        )


def _report(options: Options) -> Report | None:
    """Everything that was asked for; None if --apply met no gold, so that nothing is measured."""
    from keywright.calibration.calibrate import measure, recalibration

    found, overfitted = _found(options)
    sample = found.sample
    if not sample.gold.any():
        if options.apply is not None:
            return None
        raise KeywrightError(
            f"none of the {sample.documents:,} documents has a gold keyphrase, so no phrase can be "
            "correct; check the file of gold keyphrases"
        )
    calibration = measure(found, bins=options.bins, **options.intervals)
    notes = [*calibration.notes, *overfitted]
    probability, by = _judged(sample, options, notes)
    compared = None
    if by is not None:
        compared = recalibration(sample, probability, bins=options.bins, **options.intervals)
    thresholds = _thresholds(sample, probability, options, notes)
    return Report(calibration, compared, by, thresholds, tuple(notes))


def _found(options: Options) -> tuple[Gathered, list[str]]:
    """One pass over the predictions, recalibrated with --apply, and warnings about it."""
    from keywright.calibration.calibrate import gather

    if options.apply is not None:
        return _apply(options, options.apply)
    confidence: Any = options.confidence
    if options.fit is not None and confidence == "auto":
        confidence = "own"
    pairs = _pairs(options, need_gold=True)
    return gather(pairs, options.protocol, confidence=confidence, length=options.kpp_by), []


def _pairs(options: Options, need_gold: bool) -> Iterator[Pair]:
    """Documents with their predictions; unless gold is needed, missing gold is read as none."""
    import msgspec

    from keywright.data.documents import read_documents
    from keywright.evaluate import pair

    read = progress(read_documents(options.documents, need_gold=need_gold), "Matching phrases")
    documents = (
        read
        if need_gold
        else (
            msgspec.structs.replace(document, keyphrases=document.keyphrases or ())
            for document in read
        )
    )
    return pair(documents, options.predictions, options.match)


def _apply(options: Options, path: Path) -> tuple[Gathered, list[str]]:
    """Recalibrate predictions, write them one after another, and gather them for measuring."""
    from keywright.calibration.calibrate import Gatherer
    from keywright.calibration.recalibrate import Recalibrator
    from keywright.data.writers import write_predictions

    recalibrator = Recalibrator.from_json(path)
    gatherer = Gatherer(recalibrator.protocol, recalibrator.length)

    def judged() -> Iterator[Prediction]:
        for document, original in _pairs(options, need_gold=False):
            prediction = recalibrator.apply(document, original)
            gatherer.add(document, prediction, original)
            yield prediction

    if options.output is None:
        for _ in judged():
            pass
    else:
        write_predictions(judged(), options.output)
    found = gatherer.gathered("stated", recalibrator.source)
    if found.sample.corpus != recalibrator.corpus:
        return found, []
    return found, [
        "the recalibrator was fitted on these same documents, so its effect on them says nothing "
        "about others; --fit measures it by cross-validation"
    ]


def _judged(sample: Sample, options: Options, notes: list[str]) -> tuple[Array, str | None]:
    """The probabilities that thresholds apply to, and what made them, if not the model itself."""
    if options.apply is not None:
        return sample.confidence, options.apply.name
    if options.fit is None:
        return sample.confidence, None
    import numpy as np

    from keywright.calibration import fit

    features = options.features or tuple(fit.FEATURES)
    if options.output is not None:
        fit.fit(sample, options.fit, features).save(options.output)
    elif not len(sample):
        raise KeywrightError(fit.NOTHING_TO_FIT)
    if sample.documents < 2:
        notes.append("recalibration is not measured: that needs documents it was not fitted on")
        return sample.confidence, None
    probability = fit.cross_validate(
        sample, options.fit, features, options.folds, seed=options.seed
    )
    unjudged = int(np.isnan(probability).sum())
    if unjudged:
        notes.append(
            f"{unjudged:,} phrases are not recalibrated: other documents have none of their part"
        )
    count = min(options.folds, sample.documents)
    return probability, f"{options.fit}, {count}-fold cross-validation over documents"


def _thresholds(
    sample: Sample, probability: Array, options: Options, notes: list[str]
) -> tuple[Threshold, ...]:
    from keywright.calibration.threshold import threshold_for

    if options.precision is None:
        return ()
    if sample.documents < 2 or not len(sample):
        notes.append(
            "the threshold is left out: it needs phrases with a confidence in at least 2 documents"
        )
        return ()
    return tuple(
        threshold_for(
            sample, probability, part, options.precision, count=options.folds, **options.intervals
        )
        for part in PARTS
        if sample.mask(part).any()
    )


def _json(report: Report) -> str:
    import msgspec

    values: dict[str, Any] = msgspec.to_builtins(report.calibration)
    values["sections"]["accuracy"] = report.calibration.sections.accuracy
    values["sections"]["precision"] = report.calibration.sections.precision
    if report.recalibration is not None:
        values["recalibration"] = {
            "by": report.recalibrated_by,
            **msgspec.to_builtins(report.recalibration),
        }
    if report.thresholds:
        values["thresholds"] = msgspec.to_builtins(report.thresholds)
    values["notes"] = report.notes
    return msgspec.json.format(msgspec.json.encode(values), indent=2).decode()


def _tsv(report: Report) -> str:
    """The scores only, one per line; notes go to standard error."""
    lines = ["phrases\tscore\tvalue\tlow\thigh"]
    stages = {"": report.calibration.parts}
    if report.recalibration is not None:
        stages = {" before": report.recalibration.before, " after": report.recalibration.after}
    for stage, parts in stages.items():
        for name, part in parts.items():
            for score, value in part.scores.items():
                low, high = part.intervals.get(score, ("", ""))
                lines.append(
                    f"{name}\t{score}{stage}\t{'' if value is None else value}\t{low}\t{high}"
                )
    for note in report.notes:
        typer.echo(f"Note: {note}.", err=True)
    return "\n".join(lines)


def _tables(report: Report, format: str) -> str:
    from keywright.tables import remark, titled

    found = report.calibration
    sure = "the one stated in the predictions" if found.confidence == "stated" else "1/KPP"
    head = (
        f"{found.documents:,} documents; a phrase's confidence is {sure}. "
        "Shares and scores are times 100, with 95% intervals."
    )
    tables: dict[str, list[Row]] = {}
    if any(part.phrases for part in found.parts.values()):
        tables["Calibration"] = _calibration(found)
        tables["Reliability: phrases, mean confidence, accuracy"] = _reliability(found)
    if any(places[0].count for places in found.tokens.values()):
        tables["Mean conditional probability of the tokens of a phrase"] = _tokens(found)
    tables["Present gold phrases by where they first occur in the text"] = _sections(found)
    if report.recalibration is not None:
        tables[f"Recalibration ({report.recalibrated_by})"] = _before_after(report.recalibration)
    if report.thresholds:
        wanted = 100 * report.thresholds[0].wanted
        tables[f"Threshold for a precision of {wanted:g}%"] = _threshold_rows(report.thresholds)
    notes = [*(f"Note: {note}." for note in report.notes), found.signature]
    return "\n\n".join(
        [
            remark(head, format),
            titled(tables.items(), format),
            "\n".join(remark(note, format) for note in notes),
        ]
    )


def _points(value: float | None, interval: Interval | None = None) -> str:
    """A share or score times 100; empty if it is unknown."""
    if value is None:
        return ""
    if interval is None:
        return f"{100 * value:.2f}"
    return f"{100 * value:.2f} ({100 * interval[0]:.1f}–{100 * interval[1]:.1f})"


def _score(part: PartCalibration, name: str) -> str:
    return _points(part.scores[name], part.intervals.get(name))


def _calibration(found: Calibration) -> list[Row]:
    parts = {name: found.parts[name] for name in PARTS}
    median = {name: found.perplexity[name].median for name in PARTS}
    rows: list[Row] = [
        {"": "phrases", **{name: part.phrases for name, part in parts.items()}},
        {"": "correct phrases", **{name: part.correct for name, part in parts.items()}},
        {"": "accuracy", **{name: _points(part.accuracy) for name, part in parts.items()}},
        {"": "mean confidence", **{name: _points(part.confidence) for name, part in parts.items()}},
        {
            "": "median perplexity (KPP)",
            **{name: "" if value is None else f"{value:.2f}" for name, value in median.items()},
        },
    ]
    rows += [
        {"": title, **{part: _score(parts[part], name) for part in PARTS}}
        for name, title in SCORES.items()
    ]
    return rows


def _reliability(found: Calibration) -> list[Row]:
    rows: list[Row] = []
    for bars in zip(*(found.parts[part].bins for part in PARTS), strict=True):
        row: dict[str, Value] = {"confidence": f"{bars[0].low:.2f}–{bars[0].high:.2f}"}
        for part, bar in zip(PARTS, bars, strict=True):
            row[part] = bar.count
            row[f"{part}: confidence"] = _points(bar.confidence)
            row[f"{part}: accuracy"] = _points(bar.accuracy)
        rows.append(row)
    return rows


def _tokens(found: Calibration) -> list[Row]:
    columns = zip(*(found.tokens[part] for part in PARTS), strict=True)
    return [
        {
            "token": str(places[0].position),
            **{part: _points(place.mean) for part, place in zip(PARTS, places, strict=True)},
        }
        for places in columns
    ]


def _sections(found: Calibration) -> list[Row]:
    sections = found.sections
    count = len(sections.gold)
    return [
        {
            "% of the text": f"{100 * at // count}–{100 * (at + 1) // count}",
            "gold": sections.gold[at],
            "found": sections.found[at],
            "accuracy": _points(sections.accuracy[at]),
            "predicted": sections.predicted[at],
            "precision": _points(sections.precision[at]),
        }
        for at in range(count)
    ]


def _before_after(found: Recalibration) -> list[Row]:
    return [
        {
            "": f"{SCORES[name]}, {when}",
            **{part: _score(parts[part], name) for part in PARTS},
        }
        for name in COMPARED
        for when, parts in (("before", found.before), ("after", found.after))
    ]


def _threshold_rows(thresholds: tuple[Threshold, ...]) -> list[Row]:
    return [
        {
            "phrases": found.part,
            "threshold": f"not reached (best: {_points(found.highest) or 'unknown'})"
            if found.threshold is None
            else f"{found.threshold:.4f}",
            "kept": found.kept,
            "precision, held out": _points(found.precision, found.intervals.get("precision")),
            "recall, held out": _points(found.recall, found.intervals.get("recall")),
            "recall of all": _points(found.recall_without, found.intervals.get("recall_without")),
        }
        for found in thresholds
    ]
