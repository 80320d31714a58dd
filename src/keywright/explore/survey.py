"""What a page about a collection shows: phrases, their documents, periods and neighbours."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from keywright.errors import DataError
from keywright.explore import trends
from keywright.explore.collect import Entry
from keywright.explore.merging import Merging
from keywright.ranking.meaning import Meaning
from keywright.text.reading import Stems

MOST_PHRASES = 200
MOST_NEIGHBOURS = 8


@dataclass(frozen=True)
class Phrase:
    """A phrase with all its spellings, the most frequent one first, and where it occurs."""

    spellings: tuple[str, ...]
    documents: tuple[tuple[int, float | None], ...]  # most probable first
    periods: tuple[int, ...]  # documents in each period
    neighbours: tuple[int, ...]  # phrases of the same documents, most typical first

    @property
    def text(self) -> str:
        return self.spellings[0]


@dataclass(frozen=True)
class Survey:
    names: tuple[str, ...]  # of the documents
    dates: tuple[str | None, ...]
    distinct: int  # phrases, also those that are not shown
    phrases: tuple[Phrase, ...]  # in most documents first
    periods: tuple[str, ...]
    per_period: tuple[int, ...]  # documents
    rising: tuple[int, ...]
    together: dict[tuple[int, int], int]  # documents with both phrases


def survey(
    entries: Sequence[Entry], meaning: Meaning | None, phrases: int = MOST_PHRASES
) -> Survey:
    if not any(entry.mentions for entry in entries):
        raise DataError("there are no keyphrases to show")
    merging = Merging((m.text for entry in entries for m in entry.mentions), meaning)
    spellings: dict[Stems, Counter[str]] = defaultdict(Counter)
    places: dict[Stems, dict[int, float | None]] = defaultdict(dict)
    for number, entry in enumerate(entries):
        for mention in entry.mentions:
            if not (key := merging.key(mention.text)):
                continue
            spellings[key][mention.text] += 1
            known = places[key].get(number)
            best = max((p for p in (known, mention.probability) if p is not None), default=None)
            places[key][number] = best
    ranked = sorted(places, key=lambda key: (-len(places[key]), -_weight(places[key]), key))
    shown = ranked[:phrases]
    by_document: dict[int, list[int]] = defaultdict(list)
    for phrase, key in enumerate(shown):
        for number in places[key]:
            by_document[number].append(phrase)
    together = _together(by_document)
    known_periods = trends.periods(entry.date for entry in entries)
    totals = Counter(
        period for entry in entries if (period := trends.period_of(entry.date, known_periods))
    )
    counts = {
        phrase: Counter(
            period
            for number in places[key]
            if (period := trends.period_of(entries[number].date, known_periods))
        )
        for phrase, key in enumerate(shown)
    }
    neighbours = _neighbours(together, [len(places[key]) for key in shown])
    return Survey(
        names=tuple(entry.name for entry in entries),
        dates=tuple(entry.date for entry in entries),
        distinct=len(ranked),
        phrases=tuple(
            Phrase(
                tuple(_spellings(spellings[key])),
                tuple(sorted(places[key].items(), key=lambda item: (-(item[1] or 0.0), item[0]))),
                tuple(counts[phrase][period] for period in known_periods),
                tuple(neighbours[phrase]),
            )
            for phrase, key in enumerate(shown)
        ),
        periods=tuple(known_periods),
        per_period=tuple(totals[period] for period in known_periods),
        rising=tuple(phrase for phrase, _ in trends.rising(counts, totals, known_periods)),
        together=together,
    )


def _weight(places: dict[int, float | None]) -> float:
    return sum(probability or 0.0 for probability in places.values())


def _spellings(counted: Counter[str]) -> list[str]:
    """Each spelling once; of those that differ in capitals only, the most frequent."""
    found: dict[str, str] = {}
    for spelling, _ in sorted(counted.items(), key=lambda item: (-item[1], item[0])):
        found.setdefault(spelling.casefold(), spelling)
    return list(found.values())


def _together(by_document: dict[int, list[int]]) -> dict[tuple[int, int], int]:
    pairs: Counter[tuple[int, int]] = Counter()
    for phrases in by_document.values():
        pairs.update((a, b) for at, a in enumerate(phrases) for b in phrases[at + 1 :])
    return dict(pairs)


def _neighbours(together: dict[tuple[int, int], int], sizes: list[int]) -> dict[int, list[int]]:
    """For each phrase those that share the largest part of their documents with it."""
    found: dict[int, list[tuple[float, int]]] = defaultdict(list)
    for (a, b), both in together.items():
        shared = both / (sizes[a] + sizes[b] - both)
        found[a].append((-shared, b))
        found[b].append((-shared, a))
    return defaultdict(
        list,
        {
            phrase: [other for _, other in sorted(near)[:MOST_NEIGHBOURS]]
            for phrase, near in found.items()
        },
    )
