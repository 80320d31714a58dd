"""Periods of a collection, and which phrases are in more documents of late than before."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

MOST_MONTHS = 24  # a longer time is shown by years
FEWEST_DOCUMENTS = 10  # with a date; fewer show nothing
FEWEST_LATE = 3  # documents of late that a rising phrase needs
SURE = 2.6  # standard deviations: of 200 phrases, chance alone lifts one so far


def periods(dates: Iterable[str | None]) -> list[str]:
    """All months or years from the first to the last date; none if too few are known."""
    known = [date for date in dates if date is not None]
    if len(known) < FEWEST_DOCUMENTS:
        return []
    if all("-" in date for date in known):
        first, last = (_month(date) for date in (min(known), max(known)))
        if last - first < MOST_MONTHS:
            months = range(first, last + 1)
            return (
                [f"{month // 12}-{month % 12 + 1:02}" for month in months] if last > first else []
            )
    years = sorted({int(date[:4]) for date in known})
    return [str(year) for year in range(years[0], years[-1] + 1)] if len(years) > 1 else []


def period_of(date: str | None, known: Sequence[str]) -> str | None:
    """The period of a date."""
    if date is None or not known:
        return None
    return date[: len(known[0])]


def rising(
    counts: Mapping[int, Counter[str]], totals: Counter[str], known: Sequence[str]
) -> list[tuple[int, float]]:
    """Phrases with a higher share of the latest third of the periods, most certain first.

    `counts` are documents by phrase and period, `totals` all documents by period. The second value
    is the difference of the shares in standard deviations.
    """
    late = set(known[-math.ceil(len(known) / 3) :])
    of_late = sum(totals[period] for period in late)
    before = totals.total() - of_late
    found = []
    for phrase, by_period in counts.items():
        now = sum(by_period[period] for period in late)
        then = by_period.total() - now
        z = _difference(now, of_late, then, before)
        if now >= FEWEST_LATE and z >= SURE:
            found.append((phrase, z))
    return sorted(found, key=lambda item: (-item[1], item[0]))


def _difference(now: int, of_late: int, then: int, before: int) -> float:
    """Of two shares, in standard deviations if they were equal; half a document is added."""
    if not of_late or not before:
        return 0.0
    share = (now + then + 1) / (of_late + before + 2)
    deviation = math.sqrt(share * (1 - share) * (1 / (of_late + 1) + 1 / (before + 1)))
    return ((now + 0.5) / (of_late + 1) - (then + 0.5) / (before + 1)) / max(deviation, 1e-9)


def _month(date: str) -> int:
    return int(date[:4]) * 12 + int(date[5:7]) - 1
