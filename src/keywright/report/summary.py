"""The findings of the report in a few sentences, the most important first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keywright.analysis.significance import Difference
from keywright.matches import SPLIT_PARTS
from keywright.report.findings import MEASURES, Findings

LEVEL = 0.05


def summary(findings: Findings) -> list[str]:
    """Sentences for a reader who reads nothing else."""
    found = list(_scores(findings))
    found += _measures_disagree(findings)
    found += _calibration(findings)
    found += _agreement(findings)
    found += _numbers(findings)
    if findings.comparison is not None:
        tests = len(findings.comparison.differences)
        found.append(
            f"Every p is the larger one of two paired tests, corrected for the {tests} comparisons "
            "of this report; ± is half the 95% interval of a difference, which is not corrected."
        )
    return found


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def shown_p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"


def points(value: float) -> str:
    """A score or a difference of scores as papers print it."""
    return f"{100 * value:.1f}"


def _scores(findings: Findings) -> Iterator[str]:
    for part in SPLIT_PARTS:
        metric = f"{part}.{MEASURES[0]}"
        ranked = ranking(findings, metric)
        spoken = f"{part} {MEASURES[0]}"
        if len(ranked) == 1:
            yield f"{ranked[0]} has {spoken} {_with_interval(findings, ranked[0], metric)}."
        elif findings.comparison is None:
            scores = (f"{name} {points(findings.scores[name][metric])}" for name in ranked)
            yield f"{spoken}: {', '.join(scores)}; one document cannot tell which is better."
        elif len(ranked) == 2:
            yield _duel(difference(findings, ranked[0], ranked[1], metric), spoken)
        else:
            yield _tournament(findings, ranked, metric, spoken)


def ranking(findings: Findings, metric: str) -> list[str]:
    """The systems, highest score first."""
    return sorted(findings.systems, key=lambda system: -findings.scores[system][metric])


def difference(findings: Findings, a: str, b: str, metric: str) -> Difference:
    """The difference of two systems, in the order in which they were compared."""
    assert findings.comparison is not None, "asked only where systems were compared"
    first, second = sorted((a, b), key=findings.systems.index)
    return findings.comparison.between(first, second, metric)


def _with_interval(findings: Findings, system: str, metric: str) -> str:
    score = points(findings.scores[system][metric])
    if metric not in findings.intervals[system]:
        return score
    low, high = map(points, findings.intervals[system][metric])
    return f"{score} ({low} to {high})"


def _duel(test: Difference, spoken: str) -> str:
    better, worse = (test.a, test.b) if test.difference >= 0 else (test.b, test.a)
    high, low = max(test.score_a, test.score_b), min(test.score_a, test.score_b)
    scores = f"{points(high)} against {points(low)}"
    p = shown_p(test.worst_p)
    if test.worst_p < LEVEL:
        return f"{better} beats {worse} on {spoken} by {_margin(test)}, {p} ({scores})."
    return (
        f"On {spoken}, {better} and {worse} do not differ significantly: {scores}, "
        f"a difference of {_margin(test)}, {p}."
    )


def _margin(test: Difference) -> str:
    """The difference and half the width of its interval."""
    half = (test.interval[1] - test.interval[0]) / 2
    return f"{points(abs(test.difference))} ± {points(half)} points"


def _tournament(findings: Findings, ranked: Sequence[str], metric: str, spoken: str) -> str:
    best = ranked[0]
    tests = {name: difference(findings, best, name, metric) for name in ranked[1:]}
    beaten = [name for name, test in tests.items() if test.worst_p < LEVEL]
    level = [name for name in tests if name not in beaten]
    clauses = [f"{best} has the best {spoken}, {_with_interval(findings, best, metric)}"]
    if beaten:
        margins = [
            f"{name} by {_margin(tests[name])} ({shown_p(tests[name].worst_p)})" for name in beaten
        ]
        clauses.append(f"it beats {listed(margins)}")
    if level:
        others = [
            f"{name} ({points(findings.scores[name][metric])}, {shown_p(tests[name].worst_p)})"
            for name in level
        ]
        clauses.append(f"it does not differ significantly from {listed(others)}")
    return "; ".join(clauses) + "."


def _measures_disagree(findings: Findings) -> Iterator[str]:
    """The choice of measure may change the conclusion (Thomas and Vajjala 2024)."""
    if len(findings.systems) < 2:
        return
    for part in SPLIT_PARTS:
        leaders: dict[str, list[str]] = {}
        for measure, leader in _leaders(findings, part):
            leaders.setdefault(leader, []).append(measure)
        if len(leaders) > 1:
            shown = [f"{name} by {listed(measures)}" for name, measures in leaders.items()]
            yield f"For {part} phrases, the leader depends on the measure: {'; '.join(shown)}."


def _leaders(findings: Findings, part: str) -> Iterator[tuple[str, str]]:
    for measure in MEASURES:
        for average in ("macro", "micro"):
            values = {
                found.system: getattr(found, average)
                for found in findings.averages
                if found.part == part and found.measure == measure
            }
            yield f"{average} {measure}", max(values, key=lambda name: values[name])


def _calibration(findings: Findings) -> Iterator[str]:
    errors = {
        system: error
        for system, found in findings.calibration.items()
        if (error := found["all"].scores["ECE"]) is not None
    }
    if not errors:
        return
    ranked = sorted(errors, key=lambda system: errors[system])
    shown = {
        system: f"{points(errors[system])}{_ece_interval(findings, system)}" for system in errors
    }
    best = ranked[0]
    if len(ranked) == 1:
        yield f"The calibration error (ECE) of {best} is {shown[best]} points."
    else:
        others = [f"{shown[name]} of {name}" for name in ranked[1:]]
        second = findings.calibration[ranked[1]]["all"].intervals.get("ECE")
        first = findings.calibration[best]["all"].intervals.get("ECE")
        if first and second and first[1] < second[0]:
            lead = "is better calibrated" if len(ranked) == 2 else "is the best calibrated"
            yield f"{best} {lead}: ECE {shown[best]} points against {listed(others)}."
        else:
            yield (
                f"No clear difference in calibration between the best systems: ECE {shown[best]} "
                f"points of {best}, {listed(others)}."
            )
    leaning = [_leaning(findings, system) for system in ranked]
    yield f"Mean confidence and share of correct phrases: {'; '.join(leaning)}."


def _ece_interval(findings: Findings, system: str) -> str:
    limits = findings.calibration[system]["all"].intervals.get("ECE")
    return f" ({points(limits[0])} to {points(limits[1])})" if limits else ""


def _leaning(findings: Findings, system: str) -> str:
    part = findings.calibration[system]["all"]
    sure, right = part.confidence or 0.0, part.accuracy or 0.0
    how = "overconfident" if sure > right else "underconfident" if sure < right else "even"
    return f"{system} {points(sure)}% and {points(right)}% ({how})"


def _agreement(findings: Findings) -> Iterator[str]:
    everything = [pair for pair in findings.overlaps if pair.part == "all" and pair.agreement]
    if len(everything) == 1:
        pair = everything[0]
        yield (
            f"{pair.a} and {pair.b} agree on {points(pair.agreement or 0.0)}% of their phrases; "
            f"{_share(pair.shared.precision)} of the shared phrases are right, "
            f"{_share(pair.only_a.precision)} of those that only {pair.a} predicts, "
            f"{_share(pair.only_b.precision)} of those that only {pair.b} predicts."
        )
    elif everything:
        ranked = sorted(everything, key=lambda pair: pair.agreement or 0.0)
        least, most = ranked[0], ranked[-1]
        yield (
            f"Pairs of systems agree on {points(least.agreement or 0.0)}% ({least.a} and "
            f"{least.b}) to {points(most.agreement or 0.0)}% ({most.a} and {most.b}) of their "
            "phrases."
        )
    for found in findings.complements:
        if found.part == "all" and found.best_recall is not None:
            best = max(found.found, key=lambda name: found.found[name])
            yield (
                f"Together the systems find {points(found.best_recall)}% of the gold phrases, "
                f"{best} alone {points(found.found[best] / found.gold)}%."
            )


def _share(value: float | None) -> str:
    return "none" if value is None else f"{points(value)}%"


def _numbers(findings: Findings) -> Iterator[str]:
    everything = [found for found in findings.numbers if found.part == "all"]
    made = [f"{found.system} {found.predicted:.1f}" for found in everything]
    yield f"Phrases per document: gold {everything[0].gold:.1f}, {', '.join(made)}."
    repeating = [
        f"{system} {points(found.repeated)}%"
        for system, found in findings.diversity.items()
        if found.repeated >= 0.005
    ]
    if repeating:
        shares = ", ".join(repeating)
        yield f"Repeated phrases, before any filter: {shares}."
