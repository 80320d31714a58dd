"""The tables of the report, as values that every writer can lay out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from keywright.analysis.overlap import Split
from keywright.analysis.significance import STARS, Difference
from keywright.calibration.calibrate import PartCalibration
from keywright.matches import SPLIT_PARTS
from keywright.metric import Metric
from keywright.report.findings import MEASURES, Findings
from keywright.report.summary import difference, ranking, shown_p
from keywright.tables import Cell, Table, count, number, percent

MOST_CANDIDATES = 20


def main(findings: Findings) -> Table:
    """The same measures for present and absent phrases, with intervals and marks."""
    metrics = [f"{part}.{measure}" for part in SPLIT_PARTS for measure in MEASURES]
    leaders = {metric: ranking(findings, metric)[0] for metric in metrics}
    rows = [
        (Cell(system), *(_score(findings, system, metric, leaders[metric]) for metric in metrics))
        for system in findings.systems
    ]
    return Table(
        "main",
        "Main scores",
        ("system", *(metric.replace(".", " ") for metric in metrics)),
        tuple(rows),
        tuple(_main_notes(findings)),
    )


def _score(findings: Findings, system: str, metric: str, leader: str) -> Cell:
    value = findings.scores[system][metric]
    limits = findings.intervals[system].get(metric)
    mark = ""
    if findings.comparison is not None and system != leader:
        mark = difference(findings, leader, system, metric).stars
    several = len(findings.systems) > 1
    return Cell(
        Metric.parse(metric).show(value),
        value,
        interval="" if limits is None else f"{100 * limits[0]:.1f} to {100 * limits[1]:.1f}",
        mark=mark,
        best=several and value == findings.scores[leader][metric],
    )


def _main_notes(findings: Findings) -> Iterable[str]:
    yield (
        f"Macro averages over {findings.documents:,} documents under protocol "
        f"{findings.panel.protocol}, times 100. {findings.panel.protocol.explanation}"
    )
    if findings.documents > 1:
        yield (
            f"Below each score is its {100 * findings.settings.share:.0f}% interval: percentiles "
            f"of {findings.resamples:,} bootstrap resamples of the documents."
        )
    if findings.comparison is not None:
        levels = ", ".join(f"{mark} p < {level}" for level, mark in reversed(STARS))
        yield (
            "The best score of each column is bold. Marks: the best system is better than this "
            f"one, {levels}; p is the larger one of the paired bootstrap and the paired "
            "permutation test, both two-sided, corrected by Holm's method over all tests of this "
            "report."
        )


def differences(findings: Findings) -> Table | None:
    """Every pair of systems on every measure."""
    if findings.comparison is None:
        return None
    rows = [_difference(test) for test in findings.comparison.differences]
    return Table(
        "differences",
        "Differences and their significance",
        (
            "systems", "measure", "difference", "effect", "higher / equal / lower",
            "p corrected", "p bootstrap", "p permutation",
        ),
        tuple(rows),
        (
            "First system minus second, in points, and its 95% interval by the paired bootstrap. "
            "Effect: the difference in standard deviations of a document's contribution. Higher / "
            "equal / lower: documents on which the first system scores higher, the same, lower.",
            "p bootstrap and p permutation: two-sided, (b + 1) / (m + 1), where b resamples have "
            "|d* - d| ≥ |d|, or b permutations have |d*| ≥ |d|, m = "
            f"{findings.resamples:,}. p corrected: the larger of the two after Holm's correction "
            f"over all {len(rows)} tests of a kind.",
        ),
    )  # fmt: skip


def _difference(test: Difference) -> tuple[Cell, ...]:
    low, high = test.interval
    return (
        Cell(f"{test.a} − {test.b}"),
        Cell(test.metric.replace(".", " ")),
        Cell(
            _signed(test.difference),
            test.difference,
            interval=f"{_signed(low)} to {_signed(high)}",
            mark=test.stars,
        ),
        number(test.effect),
        Cell(f"{test.higher:,} / {test.equal:,} / {test.lower:,}", test.higher - test.lower),
        _p(test.worst_p),
        _p(test.p["bootstrap"]),
        _p(test.p["permutation"]),
    )


def _signed(difference: float) -> str:
    """A difference in points."""
    return f"{100 * difference:+.2f}".replace("-", "−")


def _p(p: float) -> Cell:
    return Cell(shown_p(p).removeprefix("p ").removeprefix("= "), p)


def averages(findings: Findings) -> Table:
    """Macro and micro averages (Thomas and Vajjala 2024, table 5)."""
    rows = [
        (
            Cell(found.system),
            Cell(f"{found.part} {found.measure}"),
            percent(found.macro, 2),
            percent(found.micro, 2),
            Cell(_signed(found.difference), found.difference),
        )
        for found in findings.averages
    ]
    return Table(
        "averages",
        "Macro and micro averages",
        ("system", "measure", "macro", "micro", "macro − micro"),
        tuple(rows),
        (
            "Macro averages give every document the same weight, micro averages every phrase. "
            "Always state which one is reported: they differ, and not always in the same "
            "direction.",
        ),
    )


def cutoffs(findings: Findings) -> Table:
    """F1 at several cut-offs (Thomas and Vajjala 2024, table 6)."""
    cuts = list(findings.cutoffs[0].f1)
    rows = [
        (Cell(found.system), Cell(found.part), *(percent(found.f1[cut], 2) for cut in cuts))
        for found in findings.cutoffs
    ]
    return Table(
        "cutoffs",
        "F1 by cut-off",
        ("system", "phrases", *(f"F1@{cut}" for cut in cuts)),
        tuple(rows),
        (
            "Macro averages. @M judges all predicted phrases, @5 the first five, @O as many as "
            "there are gold phrases.",
        ),
    )


def calibration(findings: Findings) -> Table | None:
    """One row per system and part with probabilities; None if no system has any."""
    rows = [
        _calibration_row(findings, system, part)
        for system, found in findings.calibration.items()
        for part in ("present", "absent", "all")
        if found[part].phrases
    ]
    if not rows:
        return None
    kinds = {found.confidence for found in findings.calibration.values()}
    meaning = {
        "kpp": "1/KPP, the inverse of keyphrase perplexity",
        "stated": "the probability stated with the phrase",
    }
    confidence = " or ".join(meaning[kind] for kind in sorted(kinds & meaning.keys()))
    return Table(
        "calibration",
        "Calibration errors",
        (
            "system", "phrases", "number", "correct %", "mean confidence %",
            "ECE", "MCE", "adaptive ECE", "Brier", "AUROC",
        ),
        tuple(rows),
        (
            f"Confidence is {confidence}. ECE, MCE and adaptive ECE (bins of equal mass) in "
            "points, 10 bins: 0 is perfect. MCE is the gap of a single bin, which has n phrases; "
            "with few of them it is mostly chance. Brier: 0 is perfect. AUROC: the probability "
            "that a correct phrase has more confidence than a wrong one; 0.5 is chance. Below each "
            "value is its 95% interval from 1,000 resamples of the documents.",
        ),
    )  # fmt: skip


def _calibration_row(findings: Findings, system: str, part: str) -> tuple[Cell, ...]:
    found = findings.calibration[system][part]

    def measured(name: str, scale: float, digits: int) -> Cell:
        value = found.scores[name]
        if value is None:
            return number(None)
        limits = found.intervals.get(name)
        interval = (
            ""
            if limits is None
            else f"{scale * limits[0]:.{digits}f} to {scale * limits[1]:.{digits}f}"
        )
        return Cell(f"{scale * value:.{digits}f}", value, interval=interval)

    return (
        Cell(system),
        Cell(part),
        count(found.phrases),
        percent(found.accuracy),
        percent(found.confidence),
        measured("ECE", 100, 1),
        _of_bin(measured("MCE", 100, 1), found),
        measured("ACE", 100, 1),
        *(measured(name, 1, 3) for name in ("Brier", "AUROC")),
    )


def _of_bin(cell: Cell, found: PartCalibration) -> Cell:
    """The maximum error with the number of phrases in its bin: a gap of few phrases is chance."""
    if cell.value is None:
        return cell
    worst = max(found.bins, key=lambda bar: bar.gap)
    return replace(cell, text=f"{cell.text} (n={worst.count:,})")


def agreement(findings: Findings) -> Table | None:
    if not findings.overlaps:
        return None
    rows = [
        (
            Cell(f"{pair.a}, {pair.b}"),
            Cell(pair.part),
            percent(pair.agreement),
            *_split(pair.shared),
            *_split(pair.only_a),
            *_split(pair.only_b),
        )
        for pair in findings.overlaps
    ]
    kinds = ("shared", "first only", "second only")
    return Table(
        "agreement",
        "Agreement of pairs",
        (
            "systems",
            "phrases",
            "agreement %",
            *(f"{kind}{share}" for kind in kinds for share in ("", ", right %")),
        ),
        tuple(rows),
        (
            "Agreement: phrases that both systems predict, divided by those that either predicts; "
            "mean over the documents with any. Phrases are compared as the protocol reads them.",
        ),
    )


def _split(split: Split) -> tuple[Cell, Cell]:
    return count(split.total), percent(split.precision)


def agreed(findings: Findings) -> Table | None:
    """Does agreement mean quality?"""
    if not findings.agreed:
        return None
    rows = [
        (
            count(found.systems),
            Cell(found.part),
            count(found.phrases.total),
            percent(found.phrases.precision),
        )
        for found in findings.agreed
    ]
    return Table(
        "agreed",
        "Precision by the number of systems that predict a phrase",
        ("systems", "phrases", "number", "right %"),
        tuple(rows),
    )


def complements(findings: Findings) -> Table | None:
    if not findings.complements:
        return None
    rows = [
        (
            Cell(system),
            Cell(part.part),
            count(part.gold),
            count(part.found[system]),
            percent(part.found[system] / part.gold if part.gold else None),
            count(part.alone[system]),
            percent(part.best_recall),
        )
        for system in findings.systems
        for part in findings.complements
    ]
    return Table(
        "complements",
        "Gold phrases found by each system",
        ("system", "phrases", "gold", "found", "found %", "found by no other", "found by any %"),
        tuple(rows),
        ("Found by any: the recall of a perfect choice among the phrases of all systems.",),
    )


def candidates(findings: Findings) -> Table | None:
    if not findings.candidates:
        return None
    rows = [
        (Cell(found.text), Cell(found.part), Cell(found.document), Cell(", ".join(found.systems)))
        for found in findings.candidates[:MOST_CANDIDATES]
    ]
    return Table(
        "candidates",
        "Phrases that most systems predict and the gold lacks",
        ("phrase", "kind", "document", "systems"),
        tuple(rows),
        (
            f"{len(rows):,} of {len(findings.candidates):,}: errors that the systems share, or "
            "phrases missing from the gold.",
        ),
    )


def numbers(findings: Findings) -> Table:
    rows = [
        (
            Cell(found.system),
            Cell(found.part),
            number(found.predicted),
            number(found.gold),
            number(found.mean_absolute_error),
            count(found.more),
            count(found.equal),
            count(found.fewer),
            number(found.correlation),
        )
        for found in findings.numbers
    ]
    return Table(
        "numbers",
        "Numbers of predicted and gold phrases",
        (
            "system", "phrases", "predicted", "gold", "mean absolute error",
            "more than gold", "as many", "fewer", "correlation",
        ),
        tuple(rows),
        ("Means over documents, after the protocol's filters, followed by numbers of documents.",),
    )  # fmt: skip


def diversity(findings: Findings) -> Table:
    rows = [
        (
            Cell(system),
            number(found.phrases),
            number(found.unique),
            number(found.first_words),
            percent(found.repeated),
            percent(found.repeated_first_words),
            percent(found.repeated_words),
        )
        for system, found in findings.diversity.items()
    ]
    return Table(
        "diversity",
        "Diversity",
        (
            "system", "phrases per document", "different phrases", "different first words",
            "repeated phrases %", "repeated first words %", "repeated words %",
        ),
        tuple(rows),
        ("All predicted phrases, before any filter; phrases with equal stems are the same.",),
    )  # fmt: skip


def distributions(findings: Findings) -> Table:
    bins = len(findings.distributions[0].counts)
    rows = [
        (
            Cell(found.system),
            Cell(f"{found.part} {WHAT[found.what]}"),
            *(percent(share) for share in found.shares),
            percent(found.perfect / found.total if found.total else None),
            count(found.total),
        )
        for found in findings.distributions
    ]
    return Table(
        "distributions",
        "Distribution of scores",
        (
            "system",
            "score",
            *(f"{i / bins:.1f} to {(i + 1) / bins:.1f}, %" for i in range(bins)),
            "exactly 1, %",
            "number",
        ),
        tuple(rows),
        (
            "FG of each document, and token F1 of each predicted phrase with its best gold "
            "phrase; 1 is in the last column of shares.",
        ),
    )


WHAT = {"FG": "FG, by document", "TokenF1": "token F1, by phrase"}


def every(findings: Findings) -> list[Table]:
    """All tables that have something to show, in the order of the report."""
    made: Sequence[Table | None] = (
        main(findings),
        differences(findings),
        averages(findings),
        cutoffs(findings),
        calibration(findings),
        agreement(findings),
        agreed(findings),
        complements(findings),
        candidates(findings),
        numbers(findings),
        diversity(findings),
        distributions(findings),
    )
    return [table for table in made if table is not None]
