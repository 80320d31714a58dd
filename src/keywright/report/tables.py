"""The report's tables, as values that every writer can lay out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from keywright.analysis.overlap import Split
from keywright.analysis.significance import METRICS, Difference
from keywright.metrics._base import Metric
from keywright.report.findings import MEASURES, PARTS, Findings
from keywright.report.summary import difference, ranking, shown_p
from keywright.report.values import Cell, Table, count, number, percent

STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
MOST_CANDIDATES = 20


def main(findings: Findings) -> Table:
    """The same measures for present and absent phrases, with intervals and marks (004, 7)."""
    metrics = [f"{part}.{measure}" for part in PARTS for measure in MEASURES]
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
        mark = stars(difference(findings, leader, system, metric))
    several = len(findings.systems) > 1
    return Cell(
        f"{100 * value:.2f}",
        value,
        interval="" if limits is None else f"{100 * limits[0]:.1f} to {100 * limits[1]:.1f}",
        mark=mark,
        best=several and value == findings.scores[leader][metric],
    )


def stars(one: Difference) -> str:
    return next((mark for level, mark in STARS if one.worst_p < level), "")


def _main_notes(findings: Findings) -> Iterable[str]:
    yield (
        f"Macro averages over {findings.documents:,} documents under protocol "
        f"{findings.panel.protocol}, times 100. {findings.panel.protocol.explanation}"
    )
    if findings.documents > 1:
        yield (
            f"Below each score its {100 * findings.settings.share:.0f}% interval: percentiles of "
            f"{findings.resamples:,} bootstrap resamples of the documents."
        )
    if findings.comparison is not None:
        levels = ", ".join(f"{mark} p < {level}" for level, mark in reversed(STARS))
        yield (
            f"The best of each column is bold. Marks: the best is better than this one, {levels}; "
            "p is the larger of the paired bootstrap's and the paired permutation test's, both "
            "two-sided, corrected by Holm's method over all tests of this report."
        )


def differences(findings: Findings) -> Table | None:
    """Every pair of systems on every measure."""
    if findings.comparison is None:
        return None
    rows = [_difference(one) for one in findings.comparison.differences]
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
            "Effect: the difference in standard deviations of a document's contribution. Higher, "
            "equal, lower: documents on which the first system scores so.",
            "p bootstrap and p permutation: two-sided, (b + 1) / (m + 1), b the resamples with "
            "|d* - d| ≥ |d|, or the permutations with |d*| ≥ |d|, m = "
            f"{findings.resamples:,}. p corrected: the larger of the two after Holm's correction "
            f"over all {len(rows)} tests of a kind.",
        ),
    )  # fmt: skip


def _difference(one: Difference) -> tuple[Cell, ...]:
    low, high = one.interval
    return (
        Cell(f"{one.a} − {one.b}"),
        Cell(one.metric.replace(".", " ")),
        Cell(
            _signed(one.difference),
            one.difference,
            interval=f"{_signed(low)} to {_signed(high)}",
            mark=stars(one),
        ),
        number(one.effect),
        Cell(f"{one.higher:,} / {one.equal:,} / {one.lower:,}", one.higher - one.lower),
        _p(one.worst_p),
        _p(one.p["bootstrap"]),
        _p(one.p["permutation"]),
    )


def _signed(difference: float) -> str:
    """A difference in points."""
    return f"{100 * difference:+.2f}".replace("-", "−")


def _p(p: float) -> Cell:
    return Cell(shown_p(p).removeprefix("p ").removeprefix("= "), p)


def averages(findings: Findings) -> Table:
    """004, table 5."""
    rows = [
        (
            Cell(one.system),
            Cell(f"{one.part} {one.measure}"),
            percent(one.macro, 2),
            percent(one.micro, 2),
            Cell(_signed(one.difference), one.difference),
        )
        for one in findings.averages
    ]
    return Table(
        "averages",
        "Macro against micro averages",
        ("system", "measure", "macro", "micro", "macro − micro"),
        tuple(rows),
        (
            "Macro gives every document the same weight, micro every phrase. Say which one is "
            "reported: they differ, and not always in the same direction.",
        ),
    )


def cutoffs(findings: Findings) -> Table:
    """004, table 6."""
    cuts = list(findings.cutoffs[0].f1)
    rows = [
        (Cell(one.system), Cell(one.part), *(percent(one.f1[cut], 2) for cut in cuts))
        for one in findings.cutoffs
    ]
    return Table(
        "cutoffs",
        "F1 by cut-off",
        ("system", "phrases", *(f"F1@{cut}" for cut in cuts)),
        tuple(rows),
        (
            "Macro averages. @M judges all predicted phrases, @5 the first five, @O as many as "
            "the gold has.",
        ),
    )


def calibration(findings: Findings) -> Table | None:
    """One row per system and part that has probabilities; None where no system has any."""
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
    said = " or ".join(meaning[kind] for kind in sorted(kinds & meaning.keys()))
    return Table(
        "calibration",
        "Calibration errors",
        (
            "system", "phrases", "number", "correct %", "mean confidence %",
            "ECE", "MCE", "adaptive ECE", "Brier", "AUROC",
        ),
        tuple(rows),
        (
            f"Confidence is {said}. ECE, MCE and adaptive ECE (bins of equal mass) in points, 10 "
            "bins: 0 is perfect. Brier: 0 is perfect. AUROC: the chance that a right phrase has "
            "more confidence than a wrong one; 0.5 is no better than a coin. Below each value its "
            "95% interval from 1,000 resamples of the documents.",
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
        *(measured(name, 100, 1) for name in ("ECE", "MCE", "ACE")),
        *(measured(name, 1, 3) for name in ("Brier", "AUROC")),
    )


def agreement(findings: Findings) -> Table | None:
    if not findings.overlaps:
        return None
    rows = [
        (
            Cell(f"{one.a}, {one.b}"),
            Cell(one.part),
            percent(one.agreement),
            *_split(one.shared),
            *_split(one.only_a),
            *_split(one.only_b),
        )
        for one in findings.overlaps
    ]
    kinds = ("shared", "first only", "second only")
    return Table(
        "agreement",
        "Agreement of pairs",
        (
            "systems",
            "phrases",
            "agreement %",
            *(f"{kind}{said}" for kind in kinds for said in ("", ", right %")),
        ),
        tuple(rows),
        (
            "Agreement: phrases both systems give over those either gives, mean over the "
            "documents with any. A phrase is what the protocol makes of it.",
        ),
    )


def _split(split: Split) -> tuple[Cell, Cell]:
    return count(split.total), percent(split.precision)


def agreed(findings: Findings) -> Table | None:
    """Is agreement a sign of quality?"""
    if not findings.agreed:
        return None
    rows = [
        (
            count(one.systems),
            Cell(one.part),
            count(one.phrases.total),
            percent(one.phrases.precision),
        )
        for one in findings.agreed
    ]
    return Table(
        "agreed",
        "Precision by the number of systems that give a phrase",
        ("systems", "phrases", "number", "right %"),
        tuple(rows),
    )


def complements(findings: Findings) -> Table | None:
    if not findings.complements:
        return None
    rows = [
        (
            Cell(system),
            Cell(one.part),
            count(one.gold),
            count(one.found[system]),
            percent(one.found[system] / one.gold if one.gold else None),
            count(one.alone[system]),
            percent(one.best_recall),
        )
        for system in findings.systems
        for one in findings.complements
    ]
    return Table(
        "complements",
        "Who finds which gold phrases",
        ("system", "phrases", "gold", "found", "found %", "found by it alone", "found by any %"),
        tuple(rows),
        ("Found by any: the recall that a perfect choice among all systems' phrases would have.",),
    )


def candidates(findings: Findings) -> Table | None:
    if not findings.candidates:
        return None
    rows = [
        (Cell(one.text), Cell(one.part), Cell(one.document), Cell(", ".join(one.systems)))
        for one in findings.candidates[:MOST_CANDIDATES]
    ]
    return Table(
        "candidates",
        "Phrases that most systems give and the gold lacks",
        ("phrase", "kind", "document", "systems"),
        tuple(rows),
        (
            f"{len(rows):,} of {len(findings.candidates):,}: errors the systems share, or phrases "
            "missing from the gold.",
        ),
    )


def numbers(findings: Findings) -> Table:
    rows = [
        (
            Cell(one.system),
            Cell(one.part),
            number(one.predicted),
            number(one.gold),
            number(one.mean_absolute_error),
            count(one.more),
            count(one.equal),
            count(one.fewer),
            number(one.correlation),
        )
        for one in findings.numbers
    ]
    return Table(
        "numbers",
        "Number of phrases predicted and gold",
        (
            "system", "phrases", "predicted", "gold", "mean absolute error",
            "more than gold", "as many", "fewer", "correlation",
        ),
        tuple(rows),
        ("Means over documents, after the protocol's filters; then numbers of documents.",),
    )  # fmt: skip


def diversity(findings: Findings) -> Table:
    rows = [
        (
            Cell(system),
            number(one.phrases),
            number(one.unique),
            number(one.first_words),
            percent(one.repeated),
            percent(one.repeated_first_words),
            percent(one.repeated_words),
        )
        for system, one in findings.diversity.items()
    ]
    return Table(
        "diversity",
        "Diversity",
        (
            "system", "phrases a document", "different ones", "different first words",
            "repeated phrases %", "repeated first words %", "repeated words %",
        ),
        tuple(rows),
        ("All phrases as they were produced, before any filter; the same stems are the same.",),
    )  # fmt: skip


def distributions(findings: Findings) -> Table:
    bins = len(findings.distributions[0].counts)
    rows = [
        (
            Cell(one.system),
            Cell(f"{one.part} {WHAT[one.what]}"),
            *(percent(share) for share in one.shares),
            percent(one.perfect / one.total if one.total else None),
            count(one.total),
        )
        for one in findings.distributions
    ]
    return Table(
        "distributions",
        "How scores are spread",
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
            "phrase; 1 is in the last part.",
        ),
    )


WHAT = {"FG": "FG, by document", "TokenF1": "token F1, by phrase"}


def every(findings: Findings) -> list[Table]:
    """All tables that have something to show, in the report's order."""
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


def signatures(findings: Findings) -> list[str]:
    """What each number of the main table is, in one line each."""
    return [findings.panel.protocol.signature(Metric.parse(name)) for name in METRICS]
