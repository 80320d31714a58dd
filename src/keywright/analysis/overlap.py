"""What systems agree on, right and wrong, and what one finds that the others do not.

After Thomas and Vajjala (2024), section 6.3. Phrases are stems after the protocol's filters. The
agreement of two systems on a document is |A and B| / |A or B|: the phrases that both predict,
divided by the phrases that either predicts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from keywright.analysis.systems import Panel
from keywright.evaluate import has_gold
from keywright.matches import PARTS, SPLIT_PARTS, Matches, Part, PartMatches
from keywright.protocol import Protocol
from keywright.types import Document, Prediction

BRACKETS = 10


@dataclass(frozen=True)
class Split:
    """A number of phrases: those in the gold, and those that are not."""

    correct: int
    wrong: int

    @property
    def total(self) -> int:
        return self.correct + self.wrong

    @property
    def precision(self) -> float | None:
        return self.correct / self.total if self.total else None


@dataclass(frozen=True)
class Bracket:
    """The documents whose agreement is in [low, high), and their shared phrases (figure 3).

    An agreement of 1 is in the last bracket.
    """

    low: float
    high: float
    documents: int
    shared: Split


@dataclass(frozen=True)
class Overlap:
    """The agreement of two systems on one part of the phrases.

    `documents` counts those with a phrase from either system; `agreement` is the mean over them,
    None if there is no such document.
    """

    a: str
    b: str
    part: Part
    documents: int
    agreement: float | None
    shared: Split
    only_a: Split
    only_b: Split
    brackets: tuple[Bracket, ...]


@dataclass(frozen=True)
class Complement:
    """Gold phrases by the systems that find them.

    `found_by[n]` gold phrases are found by exactly n systems; `alone` counts for each system those
    that no other finds. `best_recall` is the micro recall of all systems together: what a perfect
    choice among their phrases could reach.
    """

    part: Part
    gold: int
    found_by: tuple[int, ...]
    found: dict[str, int]
    alone: dict[str, int]

    @property
    def best_recall(self) -> float | None:
        return sum(self.found_by[1:]) / self.gold if self.gold else None


@dataclass(frozen=True)
class Agreed:
    """The phrases that exactly `systems` systems predict for the same document."""

    part: Part
    systems: int
    phrases: Split


@dataclass(frozen=True)
class MissingGold:
    """A phrase that several systems predict and the gold lacks: wrong, or missing gold."""

    document: str
    part: Part
    text: str
    systems: tuple[str, ...]


def overlaps(panel: Panel) -> list[Overlap]:
    """Every pair of systems, for present, absent and all phrases."""
    return [overlap(panel, a, b, part) for a, b in combinations(panel.systems, 2) for part in PARTS]


def overlap(panel: Panel, a: str, b: str, part: Part) -> Overlap:
    shared_of: list[Counter[bool]] = [Counter() for _ in range(BRACKETS)]
    documents = [0] * BRACKETS
    only_a: Counter[bool] = Counter()
    only_b: Counter[bool] = Counter()
    agreement = 0.0
    for first, second in zip(panel.matches[a], panel.matches[b], strict=True):
        given_a, given_b = judged(first.part(part)), judged(second.part(part))
        shared, either = given_a.keys() & given_b.keys(), given_a.keys() | given_b.keys()
        if not either:
            continue
        agreement += len(shared) / len(either)
        # In integers, so that the edges are exact.
        bracket = min(BRACKETS * len(shared) // len(either), BRACKETS - 1)
        documents[bracket] += 1
        shared_of[bracket].update(given_a[phrase] for phrase in shared)
        only_a.update(given_a[phrase] for phrase in given_a.keys() - shared)
        only_b.update(given_b[phrase] for phrase in given_b.keys() - shared)
    total = sum(documents)
    return Overlap(
        a=a,
        b=b,
        part=part,
        documents=total,
        agreement=agreement / total if total else None,
        shared=_split(sum(shared_of, Counter())),
        only_a=_split(only_a),
        only_b=_split(only_b),
        brackets=tuple(
            Bracket(i / BRACKETS, (i + 1) / BRACKETS, documents[i], _split(shared_of[i]))
            for i in range(BRACKETS)
        ),
    )


def complement(panel: Panel, part: Part) -> Complement:
    """Which systems find the gold phrases of one part."""
    gold = 0
    found_by = [0] * (len(panel.systems) + 1)
    found: Counter[str] = Counter()
    alone: Counter[str] = Counter()
    for matches in _documents(panel):
        finders = _finders(matches, part)
        # All systems see the same gold; repeated targets count once, as repeated predictions do.
        targets = set(matches[panel.systems[0]].part(part).targets)
        gold += len(targets | finders.keys())
        found_by[0] += len(targets - finders.keys())
        for systems in finders.values():
            found_by[len(systems)] += 1
            found.update(systems)
            if len(systems) == 1:
                alone.update(systems)
    return Complement(
        part,
        gold,
        tuple(found_by),
        {name: found[name] for name in panel.systems},
        {name: alone[name] for name in panel.systems},
    )


def agreed(panel: Panel, part: Part) -> list[Agreed]:
    """Precision by the number of systems that predict a phrase: does agreement mean quality?"""
    counts: list[Counter[bool]] = [Counter() for _ in range(len(panel.systems) + 1)]
    for matches in _documents(panel):
        right = _finders(matches, part)
        for phrase, systems in _givers(matches, part).items():
            counts[len(systems)][phrase in right] += 1
    return [Agreed(part, n, _split(counts[n])) for n in range(1, len(counts))]


def missing_gold(panel: Panel, least: int | None = None) -> list[MissingGold]:
    """Phrases outside the gold that at least `least` systems predict (by default, more than half of
    the systems, and at least 2).

    The phrases of most systems come first, then the documents' order decides. Documents without
    any gold are left out, because there everything would be missing.
    """
    if least is None:
        least = max(2, len(panel.systems) // 2 + 1)
    found = []
    for number, matches in enumerate(_documents(panel)):
        document = panel.documents[number]
        if not has_gold(document):
            continue
        for part in SPLIT_PARTS:
            right = _finders(matches, part)
            for phrase, systems in _givers(matches, part).items():
                if len(systems) >= least and phrase not in right:
                    made = panel.predictions[systems[0]][number]
                    text = _spelling(panel.protocol, document, made, phrase)
                    found.append(
                        MissingGold(document.id or str(number + 1), part, text, tuple(systems))
                    )
    return sorted(found, key=lambda candidate: -len(candidate.systems))


def judged(part: PartMatches) -> dict[str, bool]:
    """The phrases of one system for one document, best first, and whether they are right."""
    right = {part.predictions[rank] for rank in part.hits}
    return {phrase: phrase in right for phrase in part.predictions}


def _split(counts: Counter[bool]) -> Split:
    return Split(counts[True], counts[False])


def _documents(panel: Panel) -> Iterator[dict[str, Matches]]:
    """Each system's matches, document by document."""
    for row in zip(*panel.matches.values(), strict=True):
        yield dict(zip(panel.systems, row, strict=True))


def _givers(matches: Mapping[str, Matches], part: Part) -> dict[str, list[str]]:
    """The systems that predict each phrase."""
    givers: dict[str, list[str]] = {}
    for name, match in matches.items():
        for phrase in dict.fromkeys(match.part(part).predictions):
            givers.setdefault(phrase, []).append(name)
    return givers


def _finders(matches: Mapping[str, Matches], part: Part) -> dict[str, list[str]]:
    """The systems that predict each correct phrase."""
    finders: dict[str, list[str]] = {}
    for name, match in matches.items():
        for phrase, right in judged(match.part(part)).items():
            if right:
                finders.setdefault(phrase, []).append(name)
    return finders


def _spelling(protocol: Protocol, document: Document, made: Prediction, stems: str) -> str:
    """The words in which a system wrote a phrase that counts under the protocol."""
    indices = (
        phrase.index
        for phrase in protocol.read(document, made.texts)
        if phrase.stems == stems and phrase.dropped is None
    )
    index = next(indices, None)
    return stems if index is None else made.texts[index]
