"""What systems agree on, right and wrong, and what one finds that the others do not.

After Thomas and Vajjala (2024), section 6.3. A phrase is what the protocol makes of it (stems
after its filters); the agreement of two systems on a document is |A and B| / |A or B|, their shared
phrases among all that either gives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

from keywright.analysis.systems import Panel
from keywright.evaluate import has_gold
from keywright.metrics._matches import PARTS, Matches, Part
from keywright.protocols._base import Protocol
from keywright.types import Document, Prediction

BRACKETS = 10


@dataclass(frozen=True)
class Split:
    """A number of phrases, those in the gold and those not."""

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
    """The documents whose agreement lies in [low, high) (1 is in the last), and what is shared
    in them (figure 3)."""

    low: float
    high: float
    documents: int
    shared: Split


@dataclass(frozen=True)
class Overlap:
    """The agreement of two systems on one part of the phrases.

    `documents` are those with a phrase from either system; `agreement` is their mean, None where
    there is no such document.
    """

    a: str
    b: str
    part: str
    documents: int
    agreement: float | None
    shared: Split
    only_a: Split
    only_b: Split
    brackets: tuple[Bracket, ...]


@dataclass(frozen=True)
class Complement:
    """Gold phrases by who finds them.

    `found_by[n]` gold phrases are found by exactly n systems; `alone` counts per system those
    that no other finds. `best_recall` is micro recall of all systems together: what a perfect
    choice among their phrases could reach.
    """

    part: str
    gold: int
    found_by: tuple[int, ...]
    found: dict[str, int]
    alone: dict[str, int]

    @property
    def best_recall(self) -> float | None:
        return sum(self.found_by[1:]) / self.gold if self.gold else None


@dataclass(frozen=True)
class Agreed:
    """The phrases that exactly `systems` systems give for the same document."""

    part: str
    systems: int
    phrases: Split


@dataclass(frozen=True)
class Candidate:
    """A phrase that several systems give and the gold lacks: wrong, or missing from the gold."""

    document: str
    part: str
    text: str
    systems: tuple[str, ...]


def overlaps(panel: Panel) -> list[Overlap]:
    """Every pair of systems, for present, absent and all phrases."""
    return [overlap(panel, a, b, part) for a, b in combinations(panel.systems, 2) for part in PARTS]


def overlap(panel: Panel, a: str, b: str, part: str) -> Overlap:
    shared_of: list[Counter[bool]] = [Counter() for _ in range(BRACKETS)]
    documents = [0] * BRACKETS
    only_a: Counter[bool] = Counter()
    only_b: Counter[bool] = Counter()
    agreement = 0.0
    for one, other in zip(panel.matches[a], panel.matches[b], strict=True):
        given_a, given_b = judged(getattr(one, part)), judged(getattr(other, part))
        shared, either = given_a.keys() & given_b.keys(), given_a.keys() | given_b.keys()
        if not either:
            continue
        agreement += len(shared) / len(either)
        # In whole numbers, where borders are exact.
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


def complement(panel: Panel, part: str) -> Complement:
    """Who finds the gold phrases of one part."""
    gold = 0
    found_by = [0] * (len(panel.systems) + 1)
    found: Counter[str] = Counter()
    alone: Counter[str] = Counter()
    for matches in _documents(panel):
        finders = _finders(matches, part)
        # All systems see the same gold; a target said twice is one, as a prediction said twice is.
        targets = set(getattr(matches[panel.systems[0]], part).targets)
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


def agreed(panel: Panel, part: str) -> list[Agreed]:
    """Precision by the number of systems that give a phrase: is agreement a sign of quality?"""
    counts: list[Counter[bool]] = [Counter() for _ in range(len(panel.systems) + 1)]
    for matches in _documents(panel):
        right = _finders(matches, part)
        for phrase, systems in _givers(matches, part).items():
            counts[len(systems)][phrase in right] += 1
    return [Agreed(part, n, _split(counts[n])) for n in range(1, len(counts))]


def missing_gold(panel: Panel, least: int | None = None) -> list[Candidate]:
    """Phrases outside the gold that at least `least` systems give (more than half of them by
    default, and no fewer than 2); those of most systems first, then in the documents' order.

    Documents without any gold are left out: there everything is missing.
    """
    if least is None:
        least = max(2, len(panel.systems) // 2 + 1)
    spelling = _Spelling(panel.protocol)
    found = []
    for number, matches in enumerate(_documents(panel)):
        document = panel.documents[number]
        if not has_gold(document):
            continue
        for part in ("present", "absent"):
            right = _finders(matches, part)
            for phrase, systems in _givers(matches, part).items():
                if len(systems) >= least and phrase not in right:
                    made = [panel.predictions[name][number] for name in systems]
                    text = spelling(phrase, document, made)
                    found.append(
                        Candidate(document.id or str(number + 1), part, text, tuple(systems))
                    )
    return sorted(found, key=lambda candidate: -len(candidate.systems))


def judged(part: Part) -> dict[str, bool]:
    """The phrases of one system on one document, best first, with whether they are right."""
    right = {part.predictions[rank] for rank in part.hits}
    return {phrase: phrase in right for phrase in part.predictions}


def _split(counts: Counter[bool]) -> Split:
    return Split(counts[True], counts[False])


def _documents(panel: Panel) -> Iterator[dict[str, Matches]]:
    """Per document each system's matches."""
    for row in zip(*panel.matches.values(), strict=True):
        yield dict(zip(panel.systems, row, strict=True))


def _givers(matches: Mapping[str, Matches], part: str) -> dict[str, list[str]]:
    """Per phrase the systems that give it."""
    givers: dict[str, list[str]] = {}
    for name, match in matches.items():
        for phrase in dict.fromkeys(getattr(match, part).predictions):
            givers.setdefault(phrase, []).append(name)
    return givers


def _finders(matches: Mapping[str, Matches], part: str) -> dict[str, list[str]]:
    """Per right phrase the systems that give it."""
    finders: dict[str, list[str]] = {}
    for name, match in matches.items():
        for phrase, right in judged(getattr(match, part)).items():
            if right:
                finders.setdefault(phrase, []).append(name)
    return finders


class _Spelling:
    """From a protocol's stems back to the words a system wrote."""

    def __init__(self, protocol: Protocol) -> None:
        self._keys = cache(lambda text, tokenised: _keys(protocol, text, tokenised))

    def __call__(self, phrase: str, document: Document, made: Sequence[Prediction]) -> str:
        texts = (text for prediction in made for text in prediction.texts)
        spelled = (text for text in texts if phrase in self._keys(text, document.tokenised))
        return next(spelled, phrase)


def _keys(protocol: Protocol, text: str, tokenised: bool) -> list[str]:
    """What a protocol makes of one predicted phrase (some split it), whatever the document."""
    nowhere = Document(title="", body="", keyphrases=(), tokenised=tokenised)
    return protocol.match(nowhere, (text,)).all.predictions
