"""The report's figures, each with a description and a table of its values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from keywright.analysis.counts import Numbers
from keywright.analysis.distribution import Distribution
from keywright.analysis.overlap import Overlap
from keywright.calibration.calibrate import Calibration, PartCalibration
from keywright.calibration.ece import Bin
from keywright.calibration.position import Sections
from keywright.matches import SPLIT_PARTS
from keywright.report.findings import MEASURES, Findings
from keywright.report.svg import Drawing, Plot, Scale, legend_height, ticks
from keywright.report.tables import WHAT
from keywright.report.values import Figure, Gallery
from keywright.tables import Cell, Table, count, number, percent

FEWEST = 10  # phrases in a bin; the share of correct ones among fewer is mostly chance
HUNDREDTHS = (0, 25, 50, 75, 100)
MOST_UNFOLDED = 6
SERIES = 6
"""How many colours the style sheet has for systems."""


def scores(findings: Findings) -> Gallery:
    """F1@M of every system with its interval, for present and for absent phrases."""
    figures = tuple(_forest(findings, part) for part in SPLIT_PARTS)
    text = (
        f"{MEASURES[0]}, macro average. Dots are scores, lines are their 95% intervals. Systems "
        "with overlapping intervals may still differ significantly: the tests are paired, the "
        "intervals are not."
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
        drawing.text(14, level - 9, f"{shortened(name, 36)}: {100 * score:.1f}", "start small")
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
    listed = "; ".join(f"{name} {100 * findings.scores[name][metric]:.1f}" for name in systems)
    return as_figure(drawing, table, f"{listed}.")


def reliability(findings: Findings) -> Gallery | None:
    """Figure 3 of the calibration paper."""
    figures = [
        reliability_diagram(system, part, found[part], f"reliability-{place}-{part}")
        for place, (system, found) in enumerate(findings.calibration.items())
        for part in SPLIT_PARTS
        if found[part].phrases
    ]
    text = (
        "Bars: the share of correct phrases among those of similar confidence. On the dotted line, "
        "confidence equals the probability of being correct; bars below it mean overconfidence. "
        "Dots are at the mean confidence of their bin, and the numbers below count its phrases. "
        f"A hollow bar has fewer than {FEWEST} phrases and says little: its 95% interval is drawn."
    )
    return _gallery("Reliability", text, figures)


def reliability_diagram(system: str, part: str, found: PartCalibration, name: str) -> Figure:
    """Of one part of a system's phrases."""
    plot = Plot((0, 100), HUNDREDTHS, labels=("confidence, %", "correct, %"), below=30)
    plot.ticks((tick, f"{tick}") for tick in (0, 20, 40, 60, 80, 100))
    drawing = plot.drawing
    for bar in found.bins:
        if bar.accuracy is not None:
            kind = f"{part} few" if bar.count < FEWEST else part
            plot.bar(100 * bar.low, 100 * bar.high, 100 * bar.accuracy, kind)
    drawing.line(plot.x(0), plot.y(0), plot.x(100), plot.y(100), "ideal")
    for bar in found.bins:
        if bar.count and bar.accuracy is not None and bar.confidence is not None:
            at = plot.x(100 * bar.confidence)
            if bar.interval is not None and bar.count < FEWEST:
                low, high = (plot.y(100 * limit) for limit in bar.interval)
                drawing.line(at, low, at, high, "whisker")
            drawing.circle(at, plot.y(100 * bar.accuracy), 3, "point")
        middle = plot.x(50 * (bar.low + bar.high))
        drawing.text(middle, 236, f"{bar.count}", "tiny")
    drawing.text(8, 236, "number", "start tiny")
    error = found.scores["ECE"]
    summary = "no phrases" if error is None else f"ECE {100 * error:.1f}"
    table = Table(
        name,
        f"{system}, {part} phrases: {summary}",
        ("confidence, %", "phrases", "mean confidence, %", "correct, %"),
        tuple(
            (
                Cell(f"{100 * bar.low:.0f} to {100 * bar.high:.0f}", bar.low),
                count(bar.count),
                percent(bar.confidence),
                replace(percent(bar.accuracy), interval=_limits(bar)),
            )
            for bar in found.bins
        ),
    )
    described = (
        f"Reliability diagram of {found.phrases:,} phrases. Mean confidence "
        f"{100 * (found.confidence or 0):.1f}%, correct {100 * (found.accuracy or 0):.1f}%, "
        f"{summary} points."
    )
    return as_figure(drawing, table, described)


def _limits(bar: Bin) -> str:
    if bar.interval is None:
        return ""
    low, high = bar.interval
    return f"{100 * low:.0f} to {100 * high:.0f}"


def perplexity(findings: Findings) -> Gallery | None:
    """Figure 1 of the calibration paper."""
    figures = [
        perplexity_histogram(system, found, f"perplexity-{place}")
        for place, (system, found) in enumerate(findings.calibration.items())
        if any(found.perplexity[part].median is not None for part in SPLIT_PARTS)
    ]
    text = (
        "Keyphrase perplexity (KPP): 1 is certain, higher values are less certain. Dashed lines "
        "are the medians; phrases beyond the last bar are counted in the legend."
    )
    return _gallery("Perplexity of phrases", text, figures)


def perplexity_histogram(system: str, found: Calibration, name: str) -> Figure:
    """Of the present and the absent phrases of a system."""
    parts = {part: found.perplexity[part] for part in SPLIT_PARTS}
    edges = parts["present"].edges
    legend = [
        (part, f"{part}: {_median(histogram.median)}, {histogram.above:,} beyond")
        for part, histogram in parts.items()
    ]
    high = ticks(max(max(histogram.counts) for histogram in parts.values()))
    below = legend_height([text for _, text in legend])
    plot = Plot((edges[0], edges[-1]), high, labels=("perplexity", "phrases"), below=below + 4)
    plot.ticks((value, f"{value}") for value in range(1, int(edges[-1]) + 1))
    for part, histogram in parts.items():
        # Half a bar each, side by side, because overlapping bars would hide each other.
        for (low, top), number_of in zip(pairwise(edges), histogram.counts, strict=True):
            middle = (low + top) / 2
            ends = (low, middle) if part == "present" else (middle, top)
            plot.bar(*ends, number_of, part, inset=0.2)
    for part, histogram in parts.items():
        if histogram.median is not None and histogram.median <= edges[-1]:
            at = plot.x(histogram.median)
            plot.drawing.line(at, plot.y.end, at, plot.bottom, f"median {part}")
    plot.legend(legend, 232)
    table = Table(
        name,
        f"{system}: perplexity of its phrases",
        ("perplexity", *SPLIT_PARTS),
        (
            *(
                (
                    Cell(f"{low:.1f} to {top:.1f}", low),
                    *(count(parts[part].counts[place]) for part in SPLIT_PARTS),
                )
                for place, (low, top) in enumerate(pairwise(edges))
            ),
            (
                Cell(f"above {edges[-1]:.1f}", edges[-1]),
                *(count(parts[part].above) for part in SPLIT_PARTS),
            ),
        ),
    )
    described = "; ".join(
        f"{part} phrases: {_median(histogram.median)}, {histogram.above:,} beyond {edges[-1]:g}"
        for part, histogram in parts.items()
    )
    return as_figure(plot.drawing, table, f"Histogram of keyphrase perplexity. {described}.")


def _median(value: float | None) -> str:
    return "none" if value is None else f"median {value:.2f}"


def tokens(findings: Findings) -> Gallery | None:
    """Figure 2 of the calibration paper."""
    figures = [
        token_probabilities(system, found, f"tokens-{place}")
        for place, (system, found) in enumerate(findings.calibration.items())
        if found.tokens["all"][0].count
    ]
    text = (
        "The mean probability of the 1st to 5th token of a phrase, given those before it; vertical "
        "lines span the middle half. The first token is the hardest."
    )
    return _gallery("Probability by token position", text, figures)


def token_probabilities(system: str, found: Calibration, name: str) -> Figure:
    """Of the present and the absent phrases of a system."""
    places = len(found.tokens["all"])
    plot = Plot(
        (0.5, places + 0.5), HUNDREDTHS, labels=("token of the phrase", "probability, %"), below=20
    )
    plot.ticks((place, f"{place}") for place in range(1, places + 1))
    for shift, part in ((-0.06, "present"), (0.06, "absent")):
        known = [token for token in found.tokens[part] if token.mean is not None]
        for token in known:
            if token.quartiles is not None:
                at = plot.x(token.position + shift)
                low, _, high = token.quartiles
                plot.drawing.line(at, plot.y(100 * low), at, plot.y(100 * high), f"spread {part}")
        points = [
            (plot.x(token.position + shift), plot.y(100 * (token.mean or 0.0))) for token in known
        ]
        plot.drawing.polyline(points, f"curve {part}")
        for x, y in points:
            plot.drawing.circle(x, y, 3.5, part)
    plot.legend([(part, part) for part in SPLIT_PARTS], 234)
    table = Table(
        name,
        f"{system}: probability by token position",
        ("token", *(f"{part} {what}" for part in SPLIT_PARTS for what in ("mean, %", "number"))),
        tuple(
            (
                count(token.position),
                *(
                    cell
                    for part in SPLIT_PARTS
                    for cell in (
                        percent(found.tokens[part][token.position - 1].mean),
                        count(found.tokens[part][token.position - 1].count),
                    )
                ),
            )
            for token in found.tokens["all"]
        ),
    )
    first = {part: found.tokens[part][0].mean for part in SPLIT_PARTS}
    described = "; ".join(
        f"{part} {100 * mean:.1f}%" for part, mean in first.items() if mean is not None
    )
    return as_figure(plot.drawing, table, f"Mean probability of the first token: {described}.")


def sections(findings: Findings) -> Gallery | None:
    """Figure 4 of the calibration paper; it needs no probabilities."""
    figures = [
        section_bars(system, found.sections, f"sections-{place}")
        for place, (system, found) in enumerate(findings.calibration.items())
        if sum(found.sections.gold)
    ]
    text = (
        "The share of present gold phrases that are found, by the fifth of the text in which they "
        "first occur; the numbers below are found / gold."
    )
    return _gallery("Phrases found by position in the text", text, figures)


def section_bars(system: str, found: Sections, name: str) -> Figure:
    """Of the present phrases of a system."""
    fifths = len(found.gold)
    plot = Plot(
        (0, 100), HUNDREDTHS, labels=("first occurrence, % of the text", "found, %"), below=18
    )
    width = 100 / fifths
    labels = [f"{width * i:.0f}–{width * (i + 1):.0f}" for i in range(fifths)]
    plot.ticks((width * (i + 0.5), label) for i, label in enumerate(labels))
    for place, share in enumerate(found.accuracy):
        plot.bar(width * place, width * (place + 1), 100 * (share or 0.0), "present", inset=4)
        shares = f"{found.found[place]:,}/{found.gold[place]:,}"
        plot.drawing.text(plot.x(width * (place + 0.5)), 232, shares, "tiny")
    table = Table(
        name,
        f"{system}: phrases found by position",
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
    return as_figure(
        plot.drawing, table, f"Share found from the first to the last fifth: {shares}."
    )


def overlap(findings: Findings) -> Gallery | None:
    """The distribution of agreement over documents (Thomas and Vajjala 2024, figure 3)."""
    pairs: dict[tuple[str, str], list[Overlap]] = {}
    for found in findings.overlaps:
        pairs.setdefault((found.a, found.b), []).append(found)
    figures = [
        agreement_bars(overlaps, f"overlap-{place}")
        for place, overlaps in enumerate(pairs.values())
    ]
    text = (
        "Documents by the share of phrases on which two systems agree, in brackets of 10%; "
        "documents for which neither predicts a phrase are left out."
    )
    return _gallery("Agreement by document", text, figures)


def agreement_bars(found: Sequence[Overlap], name: str, title: str = "") -> Figure:
    """Documents by the agreement of two systems."""
    parts = {overlap.part: overlap for overlap in found if overlap.part in SPLIT_PARTS}
    high = ticks(
        max(bracket.documents for overlap in parts.values() for bracket in overlap.brackets)
    )
    plot = Plot((0, 100), high, labels=("agreement, %", "documents"), below=20)
    plot.ticks((tick, f"{tick}") for tick in (0, 20, 40, 60, 80, 100))
    for part, overlap in parts.items():
        for bracket in overlap.brackets:
            low, top = 100 * bracket.low, 100 * bracket.high
            middle = (low + top) / 2
            ends = (low, middle) if part == "present" else (middle, top)
            plot.bar(*ends, bracket.documents, part, inset=0.5)
    plot.legend([(part, part) for part in parts], 234)
    pair = found[0]
    columns = ("documents", "shared right", "shared wrong")
    table = Table(
        name,
        title or f"{pair.a} and {pair.b}: agreement",
        ("agreement, %", *(f"{part}: {what}" for part in parts for what in columns)),
        tuple(
            (
                Cell(f"{100 * bracket.low:.0f} to {100 * bracket.high:.0f}", bracket.low),
                *(
                    cell
                    for overlap in parts.values()
                    for cell in (
                        count(overlap.brackets[place].documents),
                        count(overlap.brackets[place].shared.correct),
                        count(overlap.brackets[place].shared.wrong),
                    )
                ),
            )
            for place, bracket in enumerate(pair.brackets)
        ),
    )
    means = "; ".join(
        f"{part} {100 * overlap.agreement:.1f}%"
        for part, overlap in parts.items()
        if overlap.agreement is not None
    )
    return as_figure(plot.drawing, table, f"Mean agreement: {means or 'nothing to compare'}.")


def numbers(findings: Findings) -> Gallery | None:
    figures = [
        _numbers(found, f"numbers-{place}")
        for place, found in enumerate(found for found in findings.numbers if found.part == "all")
    ]
    text = (
        "Each circle stands for the documents with these numbers of gold and predicted phrases; "
        "its area is the number of documents. On the dotted line, the two numbers are equal."
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
    return as_figure(plot.drawing, table, described)


def distributions(findings: Findings) -> Gallery | None:
    """Figure 3 of the FG paper."""
    kinds = dict.fromkeys((found.what, found.part) for found in findings.distributions)
    figures = [
        distribution_bars(
            [found for found in findings.distributions if (found.what, found.part) == kind],
            f"distribution-{place}",
        )
        for place, kind in enumerate(kinds)
    ]
    text = (
        "Shares of documents (FG) or of predicted phrases (token F1 with the best gold phrase) by "
        "score. The bars of a group are in the order of the systems."
    )
    return _gallery("Distribution of scores", text, figures)


def distribution_bars(found: Sequence[Distribution], name: str, title: str = "") -> Figure:
    """The distributions of several systems in one drawing."""
    bins = len(found[0].counts)
    legend = [(f"s{i % SERIES}", shortened(system.system, 28)) for i, system in enumerate(found)]
    high = ticks(100 * max(max(system.shares) for system in found))
    below = legend_height([text for _, text in legend])
    plot = Plot((0, 1), high, labels=("score", "share, %"), below=below + 4)
    plot.ticks((i / bins, f"{i / bins:.1f}") for i in range(bins + 1))
    gap = 0.12 / bins
    width = (1 / bins - 2 * gap) / len(found)
    for place, system in enumerate(found):
        for i, share in enumerate(system.shares):
            low = i / bins + gap + place * width
            plot.bar(low, low + width, 100 * share, f"s{place % SERIES}", inset=0.3)
    plot.legend(legend, 232)
    first = found[0]
    table = Table(
        name,
        title or f"{first.part.capitalize()} phrases: {WHAT[first.what]}",
        ("score", *(f"{system.system}, %" for system in found)),
        tuple(
            (
                Cell(f"{i / bins:.1f} to {(i + 1) / bins:.1f}", i),
                *(percent(system.shares[i]) for system in found),
            )
            for i in range(bins)
        ),
    )
    means = "; ".join(f"{system.system} {system.mean:.3f}" for system in found)
    return as_figure(plot.drawing, table, f"Mean: {means}.")


def as_figure(drawing: Drawing, table: Table, description: str) -> Figure:
    """A drawing with the table of its values, whose name and title it gets."""
    svg = drawing.render(table.name, table.title, description)
    return Figure(table.name, table.title, description, svg, table)


def _gallery(title: str, text: str, figures: Sequence[Figure]) -> Gallery | None:
    if not figures:
        return None
    return Gallery(title, text, tuple(figures), folded=len(figures) > MOST_UNFOLDED)


def shortened(name: str, most: int) -> str:
    """A name that fits into a drawing."""
    return name if len(name) <= most else f"{name[: most - 1]}…"
