"""The report's figures, each with a description and a table of its values."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from keywright.analysis.counts import Numbers
from keywright.analysis.distribution import Distribution
from keywright.analysis.overlap import Overlap
from keywright.analysis.position import Sections
from keywright.calibration.calibrate import Calibration, PartCalibration
from keywright.report.findings import MEASURES, PARTS, Findings
from keywright.report.svg import Drawing, Plot, Scale, legend_height, ticks
from keywright.report.tables import WHAT
from keywright.report.values import Cell, Figure, Gallery, Table, count, number, percent

HUNDREDTHS = (0, 25, 50, 75, 100)
MOST_UNFOLDED = 6
SERIES = 6
"""How many colours for systems the style sheet has."""


def scores(findings: Findings) -> Gallery:
    """F1@M of every system with its interval, present and absent."""
    figures = tuple(_forest(findings, part) for part in PARTS)
    text = (
        f"{MEASURES[0]}, macro average. Dots are scores, lines their 95% intervals. Intervals that "
        "overlap may still differ significantly: the tests are paired, the intervals are not."
    )
    return Gallery("Scores at a glance", text, figures)


def _forest(findings: Findings, part: str) -> Figure:
    metric = f"{part}.{MEASURES[0]}"
    systems = findings.systems
    row, top = 30, 8
    bottom = top + row * len(systems) + 6
    drawing = Drawing(bottom + 36)
    limits = {name: findings.intervals[name].get(metric) for name in systems}
    highest = max(
        max(findings.scores[name][metric], (limits[name] or (0.0, 0.0))[1]) for name in systems
    )
    marks = ticks(100 * highest)
    x = Scale(marks[0], marks[-1], 12, 328)
    for tick in marks:
        drawing.line(x(tick), top, x(tick), bottom, "grid")
        drawing.text(x(tick), bottom + 14, f"{tick:g}", "small")
    drawing.text(170, bottom + 31, f"{part} {MEASURES[0]}, %")
    for place, name in enumerate(systems):
        level = top + row * place + 22
        score = findings.scores[name][metric]
        drawing.text(14, level - 9, f"{_short(name, 36)}: {100 * score:.1f}", "start small")
        found = limits[name]
        if found is not None:
            drawing.line(
                x(100 * found[0]), level, x(100 * found[1]), level, f"interval s{place % SERIES}"
            )
        drawing.circle(x(100 * score), level, 4, f"dot s{place % SERIES}")
    title = f"{part.capitalize()} {MEASURES[0]} of every system"
    table = Table(
        f"forest-{part}",
        title,
        ("system", MEASURES[0], "low", "high"),
        tuple(
            (
                Cell(name),
                percent(findings.scores[name][metric], 2),
                *(percent(bound, 2) for bound in limits[name] or (None, None)),
            )
            for name in systems
        ),
    )
    said = "; ".join(f"{name} {100 * findings.scores[name][metric]:.1f}" for name in systems)
    return _figure(drawing, table, f"{said}.")


def reliability(findings: Findings) -> Gallery | None:
    """Figure 3 of the calibration paper."""
    figures = [
        _reliability(system, part, found[part], f"reliability-{place}-{part}")
        for place, (system, found) in enumerate(findings.calibration.items())
        for part in PARTS
        if found[part].phrases
    ]
    text = (
        "Bars: the share of correct phrases among those of about the same confidence. On the "
        "dotted line confidence is the probability of being right; bars below it mean "
        "overconfidence. Dots stand at the mean confidence of their bin, and the numbers below "
        "count its phrases."
    )
    return _gallery("Reliability", text, figures)


def _reliability(system: str, part: str, found: PartCalibration, name: str) -> Figure:
    plot = Plot((0, 100), HUNDREDTHS, labels=("confidence, %", "correct, %"), below=30)
    plot.ticks((tick, f"{tick}") for tick in (0, 20, 40, 60, 80, 100))
    drawing = plot.drawing
    for one in found.bins:
        if one.count and one.accuracy is not None and one.confidence is not None:
            plot.bar(100 * one.low, 100 * one.high, 100 * one.accuracy, part)
    drawing.line(plot.x(0), plot.y(0), plot.x(100), plot.y(100), "ideal")
    for one in found.bins:
        if one.count and one.accuracy is not None and one.confidence is not None:
            drawing.circle(plot.x(100 * one.confidence), plot.y(100 * one.accuracy), 3, "point")
        middle = plot.x(50 * (one.low + one.high))
        drawing.text(middle, 236, f"{one.count}", "tiny")
    drawing.text(8, 236, "number", "start tiny")
    error = found.scores["ECE"]
    said = "no phrases" if error is None else f"ECE {100 * error:.1f}"
    table = Table(
        name,
        f"{system}, {part} phrases: {said}",
        ("confidence, %", "phrases", "mean confidence, %", "correct, %"),
        tuple(
            (
                Cell(f"{100 * one.low:.0f} to {100 * one.high:.0f}", one.low),
                count(one.count),
                percent(one.confidence),
                percent(one.accuracy),
            )
            for one in found.bins
        ),
    )
    described = (
        f"Reliability diagram of {found.phrases:,} phrases. Mean confidence "
        f"{100 * (found.confidence or 0):.1f}%, correct {100 * (found.accuracy or 0):.1f}%, {said} "
        "points."
    )
    return _figure(drawing, table, described)


def perplexity(findings: Findings) -> Gallery | None:
    """Figure 1 of the calibration paper."""
    figures = [
        _perplexity(system, found, f"perplexity-{place}")
        for place, (system, found) in enumerate(findings.calibration.items())
        if any(found.perplexity[part].median is not None for part in PARTS)
    ]
    text = (
        "Keyphrase perplexity (KPP): 1 is certain, higher is less sure. Dashed lines are the "
        "medians; phrases beyond the last bar are counted in the legend."
    )
    return _gallery("Perplexity of phrases", text, figures)


def _perplexity(system: str, found: Calibration, name: str) -> Figure:
    parts = {part: found.perplexity[part] for part in PARTS}
    edges = parts["present"].edges
    legend = [
        (part, f"{part}: {_median(one.median)}, {one.above:,} beyond")
        for part, one in parts.items()
    ]
    high = ticks(max(max(one.counts) for one in parts.values()))
    below = legend_height([text for _, text in legend])
    plot = Plot((edges[0], edges[-1]), high, labels=("perplexity", "phrases"), below=below + 4)
    plot.ticks((value, f"{value}") for value in range(1, int(edges[-1]) + 1))
    for part, one in parts.items():
        # Half a bar each, side by side: one colour over another hides the lower one.
        for (low, top), number_of in zip(pairwise(edges), one.counts, strict=True):
            middle = (low + top) / 2
            ends = (low, middle) if part == "present" else (middle, top)
            plot.bar(*ends, number_of, part, inset=0.2)
    for part, one in parts.items():
        if one.median is not None and one.median <= edges[-1]:
            at = plot.x(one.median)
            plot.drawing.line(at, plot.y.end, at, plot.bottom, f"median {part}")
    plot.legend(legend, 232)
    table = Table(
        name,
        f"{system}: perplexity of its phrases",
        ("perplexity", *PARTS),
        (
            *(
                (
                    Cell(f"{low:.1f} to {top:.1f}", low),
                    *(count(parts[part].counts[place]) for part in PARTS),
                )
                for place, (low, top) in enumerate(pairwise(edges))
            ),
            (
                Cell(f"above {edges[-1]:.1f}", edges[-1]),
                *(count(parts[part].above) for part in PARTS),
            ),
        ),
    )
    described = "; ".join(
        f"{part} phrases: {_median(one.median)}, {one.above:,} beyond {edges[-1]:g}"
        for part, one in parts.items()
    )
    return _figure(plot.drawing, table, f"Histogram of keyphrase perplexity. {described}.")


def _median(value: float | None) -> str:
    return "none" if value is None else f"median {value:.2f}"


def tokens(findings: Findings) -> Gallery | None:
    """Figure 2 of the calibration paper."""
    figures = [
        _tokens(system, found, f"tokens-{place}")
        for place, (system, found) in enumerate(findings.calibration.items())
        if found.tokens["all"][0].count
    ]
    text = (
        "The mean probability of a phrase's 1st to 5th token, given those before it; vertical "
        "lines span the middle half. The first token is the hard one."
    )
    return _gallery("Probability by token position", text, figures)


def _tokens(system: str, found: Calibration, name: str) -> Figure:
    places = len(found.tokens["all"])
    plot = Plot(
        (0.5, places + 0.5), HUNDREDTHS, labels=("token of the phrase", "probability, %"), below=20
    )
    plot.ticks((place, f"{place}") for place in range(1, places + 1))
    for shift, part in ((-0.06, "present"), (0.06, "absent")):
        known = [one for one in found.tokens[part] if one.mean is not None]
        for one in known:
            if one.quartiles is not None:
                at = plot.x(one.position + shift)
                low, _, high = one.quartiles
                plot.drawing.line(at, plot.y(100 * low), at, plot.y(100 * high), f"spread {part}")
        points = [(plot.x(one.position + shift), plot.y(100 * (one.mean or 0.0))) for one in known]
        plot.drawing.polyline(points, f"curve {part}")
        for x, y in points:
            plot.drawing.circle(x, y, 3.5, part)
    plot.legend([(part, part) for part in PARTS], 234)
    table = Table(
        name,
        f"{system}: probability by token position",
        ("token", *(f"{part} {what}" for part in PARTS for what in ("mean, %", "number"))),
        tuple(
            (
                count(one.position),
                *(
                    cell
                    for part in PARTS
                    for cell in (
                        percent(found.tokens[part][one.position - 1].mean),
                        count(found.tokens[part][one.position - 1].count),
                    )
                ),
            )
            for one in found.tokens["all"]
        ),
    )
    first = {part: found.tokens[part][0].mean for part in PARTS}
    described = "; ".join(
        f"{part} {100 * mean:.1f}%" for part, mean in first.items() if mean is not None
    )
    return _figure(plot.drawing, table, f"Mean probability of the first token: {described}.")


def sections(findings: Findings) -> Gallery | None:
    """Figure 4 of the calibration paper; it needs no probabilities."""
    figures = [
        _sections(system, found.sections, f"sections-{place}")
        for place, (system, found) in enumerate(findings.calibration.items())
        if sum(found.sections.gold)
    ]
    text = (
        "The share of present gold phrases found, by the fifth of the text in which they first "
        "occur; below it, how many of how many."
    )
    return _gallery("Phrases found by their place in the text", text, figures)


def _sections(system: str, found: Sections, name: str) -> Figure:
    fifths = len(found.gold)
    plot = Plot(
        (0, 100), HUNDREDTHS, labels=("first occurrence, % of the text", "found, %"), below=18
    )
    width = 100 / fifths
    labels = [f"{width * i:.0f}–{width * (i + 1):.0f}" for i in range(fifths)]
    plot.ticks((width * (i + 0.5), label) for i, label in enumerate(labels))
    for place, share in enumerate(found.accuracy):
        plot.bar(width * place, width * (place + 1), 100 * (share or 0.0), "present", inset=4)
        said = f"{found.found[place]:,}/{found.gold[place]:,}"
        plot.drawing.text(plot.x(width * (place + 0.5)), 232, said, "tiny")
    table = Table(
        name,
        f"{system}: phrases found by place",
        ("% of the text", "gold", "found", "found, %"),
        tuple(
            (Cell(label, place), count(gold), count(hit), percent(share))
            for place, (label, gold, hit, share) in enumerate(
                zip(labels, found.gold, found.found, found.accuracy, strict=True)
            )
        ),
    )
    shares = ", ".join(
        "none" if share is None else f"{100 * share:.1f}%" for share in found.accuracy
    )
    return _figure(plot.drawing, table, f"Share found from the first to the last fifth: {shares}.")


def overlap(findings: Findings) -> Gallery | None:
    """Figure 3 of 004: how many documents have which agreement."""
    figures = [
        _brackets([one for one in findings.overlaps if (one.a, one.b) == pair], f"overlap-{place}")
        for place, pair in enumerate(dict.fromkeys((one.a, one.b) for one in findings.overlaps))
    ]
    text = (
        "Documents by the share of phrases two systems agree on, in brackets of 10%; documents "
        "without a phrase from either are left out."
    )
    return _gallery("Agreement by document", text, figures)


def _brackets(found: Sequence[Overlap], name: str) -> Figure:
    parts = {one.part: one for one in found if one.part in PARTS}
    high = ticks(max(bracket.documents for one in parts.values() for bracket in one.brackets))
    plot = Plot((0, 100), high, labels=("agreement, %", "documents"), below=20)
    plot.ticks((tick, f"{tick}") for tick in (0, 20, 40, 60, 80, 100))
    for part, one in parts.items():
        for bracket in one.brackets:
            low, top = 100 * bracket.low, 100 * bracket.high
            middle = (low + top) / 2
            ends = (low, middle) if part == "present" else (middle, top)
            plot.bar(*ends, bracket.documents, part, inset=0.5)
    plot.legend([(part, part) for part in parts], 234)
    pair = found[0]
    columns = ("documents", "shared right", "shared wrong")
    table = Table(
        name,
        f"{pair.a} and {pair.b}: agreement",
        ("agreement, %", *(f"{part}: {what}" for part in parts for what in columns)),
        tuple(
            (
                Cell(f"{100 * bracket.low:.0f} to {100 * bracket.high:.0f}", bracket.low),
                *(
                    cell
                    for one in parts.values()
                    for cell in (
                        count(one.brackets[place].documents),
                        count(one.brackets[place].shared.correct),
                        count(one.brackets[place].shared.wrong),
                    )
                ),
            )
            for place, bracket in enumerate(pair.brackets)
        ),
    )
    means = "; ".join(
        f"{part} {100 * one.agreement:.1f}%"
        for part, one in parts.items()
        if one.agreement is not None
    )
    return _figure(plot.drawing, table, f"Mean agreement: {means or 'nothing to compare'}.")


def numbers(findings: Findings) -> Gallery | None:
    figures = [
        _numbers(one, f"numbers-{place}")
        for place, one in enumerate(one for one in findings.numbers if one.part == "all")
    ]
    text = (
        "Each circle stands for the documents with so many gold and so many predicted phrases; "
        "its area is their number. On the dotted line the two are equal."
    )
    return _gallery("Number of phrases, predicted and gold", text, figures)


def _numbers(found: Numbers, name: str) -> Figure:
    largest = max(max(gold, made) for gold, made, _ in found.table)
    marks = ticks(largest + 1)
    plot = Plot(
        (marks[0], marks[-1]), marks, labels=("gold phrases", "predicted phrases"), height=260
    )
    plot.ticks((tick, f"{tick:g}") for tick in marks)
    plot.drawing.line(plot.x(0), plot.y(0), plot.x(marks[-1]), plot.y(marks[-1]), "ideal")
    most = max(documents for *_, documents in found.table)
    for gold, made, documents in found.table:
        radius = 1.2 + 7 * (documents / most) ** 0.5
        plot.drawing.circle(plot.x(gold), plot.y(made), radius, "bubble")
    by_gold: dict[int, list[tuple[int, int]]] = {}
    for gold, made, documents in found.table:
        by_gold.setdefault(gold, []).append((made, documents))
    table = Table(
        name,
        f"{found.system}: number of phrases",
        ("gold phrases", "documents", "predicted, mean"),
        tuple(
            (
                count(gold),
                count(sum(documents for _, documents in rows)),
                number(
                    sum(made * documents for made, documents in rows)
                    / sum(documents for _, documents in rows)
                ),
            )
            for gold, rows in sorted(by_gold.items())
        ),
    )
    described = (
        f"On average {found.predicted:.2f} predicted and {found.gold:.2f} gold; more than gold in "
        f"{found.more:,} documents, as many in {found.equal:,}, fewer in {found.fewer:,}."
    )
    return _figure(plot.drawing, table, described)


def distributions(findings: Findings) -> Gallery | None:
    """Figure 3 of the FG paper."""
    kinds = dict.fromkeys((one.what, one.part) for one in findings.distributions)
    figures = [
        _distribution(
            [one for one in findings.distributions if (one.what, one.part) == kind],
            f"distribution-{place}",
        )
        for place, kind in enumerate(kinds)
    ]
    text = (
        "Shares of documents (FG) or of predicted phrases (token F1 with the best gold phrase) by "
        "score. Bars of a group stand in the order of the systems."
    )
    return _gallery("How scores are spread", text, figures)


def _distribution(found: Sequence[Distribution], name: str) -> Figure:
    bins = len(found[0].counts)
    legend = [(f"s{i % SERIES}", _short(one.system, 28)) for i, one in enumerate(found)]
    high = ticks(100 * max(max(one.shares) for one in found))
    below = legend_height([text for _, text in legend])
    plot = Plot((0, 1), high, labels=("score", "share, %"), below=below + 4)
    plot.ticks((i / bins, f"{i / bins:.1f}") for i in range(bins + 1))
    gap = 0.12 / bins
    width = (1 / bins - 2 * gap) / len(found)
    for place, one in enumerate(found):
        for i, share in enumerate(one.shares):
            low = i / bins + gap + place * width
            plot.bar(low, low + width, 100 * share, f"s{place % SERIES}", inset=0.3)
    plot.legend(legend, 232)
    first = found[0]
    table = Table(
        name,
        f"{first.part.capitalize()} phrases: {WHAT[first.what]}",
        ("score", *(f"{one.system}, %" for one in found)),
        tuple(
            (
                Cell(f"{i / bins:.1f} to {(i + 1) / bins:.1f}", i),
                *(percent(one.shares[i]) for one in found),
            )
            for i in range(bins)
        ),
    )
    means = "; ".join(f"{one.system} {one.mean:.3f}" for one in found)
    return _figure(plot.drawing, table, f"Mean: {means}.")


def _figure(drawing: Drawing, table: Table, description: str) -> Figure:
    svg = drawing.render(table.name, table.title, description)
    return Figure(table.name, table.title, description, svg, table)


def _gallery(title: str, text: str, figures: Sequence[Figure]) -> Gallery | None:
    if not figures:
        return None
    return Gallery(title, text, tuple(figures), folded=len(figures) > MOST_UNFOLDED)


def _short(name: str, most: int) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"
