"""The page about a collection: one file that works offline, with or without its script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from string import Template

from keywright.explore.layout import ASPECT, placed
from keywright.explore.survey import Phrase, Survey
from keywright.report.policy import policy

MOST_DOCUMENTS = 50  # listed for each phrase
MOST_RISING = 20
MOST_ON_MAP = 40
MOST_LINES = 2  # of each phrase on the map
FEWEST_TOGETHER = 2  # documents with both phrases of a line on the map
MAP_WIDTH = 1000
BAR = 100  # the width of the longest bar
LONGEST = 60  # characters of a label on the map


def render(survey: Survey, name: str) -> str:
    style, script = _resource("explore.css"), _resource("explore.js")
    return Template(_resource("explore.html")).substitute(
        policy=policy(style, script),
        title=escape(f"Keyphrases of {name}"),
        style=style,
        script=script,
        lead=escape(_lead(survey)),
        phrases="\n".join(_phrase(survey, number) for number in range(len(survey.phrases))),
        shown=escape(_shown(survey)),
        rising=_rising(survey),
        map=_map(survey),
    )


def _resource(name: str) -> str:
    return files("keywright.explore").joinpath("page", name).read_text(encoding="utf-8")


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _lead(survey: Survey) -> str:
    lead = f"{_counted(len(survey.names), 'document')}, {_counted(survey.distinct, 'keyphrase')}"
    dates = sorted(date for date in survey.dates if date is not None)
    if dates:
        lead += f"; {_counted(len(dates), 'document')} with a date, {dates[0]} to {dates[-1]}"
    return lead


def _shown(survey: Survey) -> str:
    if len(survey.phrases) == survey.distinct:
        return "All phrases, those of most documents first. Open one for its documents."
    return f"The {len(survey.phrases):,} phrases of most documents. Open one for its documents."


def _phrase(survey: Survey, number: int) -> str:
    phrase = survey.phrases[number]
    most = len(survey.phrases[0].documents)
    width = BAR * len(phrase.documents) / most
    bar = (
        f'<svg class="bar" viewBox="0 0 {BAR} 8" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect width="{width:.1f}" height="8"/></svg>'
    )
    searched = escape(" ".join(phrase.spellings).casefold(), quote=True)
    return (
        f'<li id="p{number}" data-text="{searched}">'
        f'<details><summary><span class="text">{escape(phrase.text)}</span>{bar}'
        f'<span class="count">{_counted(len(phrase.documents), "document")}</span></summary>'
        f"{_details(survey, phrase)}</details></li>"
    )


def _details(survey: Survey, phrase: Phrase) -> str:
    parts = []
    if len(phrase.spellings) > 1:
        also = ", ".join(map(escape, phrase.spellings[1:]))
        parts.append(f'<p class="soft">Also written: {also}</p>')
    if survey.periods:
        parts.append(f"<p>{_line(survey, phrase)}</p>")
    if phrase.neighbours:
        parts.append(f'<p class="soft">Often with: {_links(survey, phrase.neighbours)}</p>')
    listed = "".join(
        f"<li>{escape(survey.names[document])}{_remark(survey.dates[document], probability)}</li>"
        for document, probability in phrase.documents[:MOST_DOCUMENTS]
    )
    parts.append(f"<ol>{listed}</ol>")
    if (more := len(phrase.documents) - MOST_DOCUMENTS) > 0:
        parts.append(f'<p class="soft">and {_counted(more, "document")} more</p>')
    return "".join(parts)


def _remark(date: str | None, probability: float | None) -> str:
    known = [date] if date is not None else []
    if probability is not None:
        known.append(f"{probability:.0%}")
    return f' <span class="soft">{escape(", ".join(known))}</span>' if known else ""


def _links(survey: Survey, numbers: Iterable[int]) -> str:
    return ", ".join(
        f'<a href="#p{number}">{escape(survey.phrases[number].text)}</a>' for number in numbers
    )


def _line(survey: Survey, phrase: Phrase, dated: bool = True) -> str:
    """The share of documents with a phrase in each period, as small bars."""
    shares = [
        count / total if total else 0.0
        for count, total in zip(phrase.periods, survey.per_period, strict=True)
    ]
    most = max(shares) or 1.0
    width = 10
    bars = "".join(
        f'<rect x="{at * width + 1}" y="{30 - 30 * share / most:.1f}" width="{width - 2}" '
        f'height="{30 * share / most:.1f}"/>'
        for at, share in enumerate(shares)
    )
    first, last = survey.periods[0], survey.periods[-1]
    values = ", ".join(
        f"{period}: {count} of {total}"
        for period, count, total in zip(
            survey.periods, phrase.periods, survey.per_period, strict=True
        )
    )
    dates = f' <span class="soft">{escape(first)} to {escape(last)}</span>' if dated else ""
    return (
        f'<svg class="line" viewBox="0 0 {width * len(shares)} 30" role="img" '
        f'aria-label="{escape(values, quote=True)}"><title>{escape(values)}</title>{bars}</svg>'
        f"{dates}"
    )


def _rising(survey: Survey) -> str:
    if not survey.periods:
        return (
            "<p>Too few documents have a date. Dates are taken from file names such as "
            "<code>2024-05-notes.md</code>, and from the fields <code>date</code> or "
            "<code>year</code> of JSON lines.</p>"
        )
    if not survey.rising:
        return "<p>No phrase is significantly more frequent of late than before.</p>"
    rows = "".join(
        f'<li><a href="#p{number}">{escape(survey.phrases[number].text)}</a> '
        f"{_line(survey, survey.phrases[number], dated=False)}</li>"
        for number in survey.rising[:MOST_RISING]
    )
    return (
        "<p>Phrases with a larger share of the documents in the latest third of the time than "
        "before, more than chance easily explains; the most certain come first. The bars go from "
        f"{escape(survey.periods[0])} to {escape(survey.periods[-1])}.</p>"
        f'<ul class="rising">{rows}</ul>'
    )


def _map(survey: Survey) -> str:
    chosen = _on_map(survey)
    lines = _lines_of(survey, chosen)
    if not lines:
        return "<p>No two frequent phrases are in the same documents.</p>"
    labels = [_shortened(survey.phrases[number].text) for number in chosen]
    places = placed(labels, lines)
    height = MAP_WIDTH * ASPECT

    def at(number: int) -> tuple[float, float]:
        return MAP_WIDTH * places[number, 0], MAP_WIDTH * places[number, 1]

    strongest = max(lines.values())
    drawn = "".join(
        f'<line x1="{at(a)[0]:.0f}" y1="{at(a)[1]:.0f}" x2="{at(b)[0]:.0f}" y2="{at(b)[1]:.0f}" '
        f'stroke-width="{0.8 + 4 * strength / strongest:.1f}"/>'
        for (a, b), strength in sorted(lines.items(), key=lambda item: item[1])
    )
    words = "".join(_label(chosen[place], label, *at(place)) for place, label in enumerate(labels))
    return (
        "<p>Phrases near each other are in the same documents; a thicker line means a larger part "
        "of them.</p>"
        '<div class="map" role="region" aria-label="Map of phrases" tabindex="0">'
        f'<svg viewBox="-10 -10 {MAP_WIDTH + 20} {height + 20:.0f}" role="group">{drawn}{words}'
        "</svg></div>"
    )


def _on_map(survey: Survey) -> list[int]:
    """The phrases of most documents that share documents with another one of them."""
    pairs = [pair for pair, both in survey.together.items() if both >= FEWEST_TOGETHER]
    chosen = sorted({number for pair in pairs for number in pair})[:MOST_ON_MAP]
    kept = set(chosen)
    linked = {number for pair in pairs if kept.issuperset(pair) for number in pair}
    return [number for number in chosen if number in linked]


def _label(number: int, label: str, x: float, y: float) -> str:
    width = 10.5 * len(label) + 16
    return (
        f'<a href="#p{number}"><rect x="{x - width / 2:.0f}" y="{y - 15:.0f}" width="{width:.0f}" '
        f'height="30" rx="15"/><text x="{x:.0f}" y="{y + 6:.0f}">{escape(label)}</text></a>'
    )


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _lines_of(survey: Survey, chosen: Sequence[int]) -> dict[tuple[int, int], float]:
    """Pairs of places in `chosen`, with the part of their documents that has both phrases.

    Only the strongest of each phrase: all of them would be a ball of wool.
    """
    place = {number: at for at, number in enumerate(chosen)}
    size = [len(phrase.documents) for phrase in survey.phrases]
    every = {
        (place[a], place[b]): both / (size[a] + size[b] - both)
        for (a, b), both in survey.together.items()
        if a in place and b in place and both >= FEWEST_TOGETHER
    }
    kept: dict[tuple[int, int], float] = {}
    lines = [0] * len(chosen)
    for pair, strength in sorted(every.items(), key=lambda item: (-item[1], item[0])):
        if min(lines[at] for at in pair) < MOST_LINES:
            kept[pair] = strength
            for at in pair:
                lines[at] += 1
    return kept
