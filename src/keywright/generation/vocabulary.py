"""Keyphrases in the words of a controlled vocabulary."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

import msgspec

from keywright.errors import UnknownNameError
from keywright.generation.keyphrases import (
    Keyphrase,
    Text,
    candidates,
    literal_stems,
    merge,
    spelled,
)
from keywright.types import Document, Prediction
from keywright.vocabularies.terms import Term, Terms

Mode = Literal["only", "mark"]
MODES: tuple[Mode, ...] = get_args(Mode)


@dataclass(frozen=True)
class Controlled:
    """Maps a prediction to the terms of a vocabulary.

    `only` keeps what means a term; `mark` keeps all, and marks what does not as new. Phrases that
    mean the same term become one, with the best of their probabilities.
    """

    terms: Terms
    mode: Mode = "only"

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise UnknownNameError("vocabulary mode", self.mode, MODES)

    def __call__(self, document: Document, prediction: Prediction) -> list[Keyphrase]:
        text = Text(document)
        ranked = candidates(prediction)
        # Terms are not near-repeats of each other: the vocabulary tells them apart.
        distinct = {candidate.rank for candidate in merge(ranked)}
        found: dict[Term | int, Keyphrase] = {}
        for candidate in ranked:
            one = spelled(text, candidate)
            if one is None:
                continue
            term = self._term(text, one)
            if term is None:
                if self.mode == "mark" and candidate.rank in distinct:
                    found[candidate.rank] = msgspec.structs.replace(one, new=True)
            elif term in found:
                found[term] = _joined(found[term], self._standing(text, term, one.places))
            else:
                found[term] = self._named(text, term, one)
        return list(found.values())

    def _term(self, text: Text, one: Keyphrase) -> Term | None:
        match = self.terms.find(one.text, cased=one.present and text.cased)
        return match.term if match else None

    def _named(self, text: Text, term: Term, one: Keyphrase) -> Keyphrase:
        places = self._standing(text, term, one.places)
        for name in term.names:
            places += self._standing(text, term, text.places(literal_stems(name)))
        named = msgspec.structs.replace(
            one, text=term.text, id=term.id, written=one.text, places=()
        )
        return _joined(named, places)

    def _standing(
        self, text: Text, term: Term, places: Iterable[tuple[int, int]]
    ) -> list[tuple[int, int]]:
        """The places whose own spelling means the term: stems throw "AIDS" and "aid" together."""
        return [
            (start, end)
            for start, end in places
            if (match := self.terms.find(text.text[start:end], cased=text.cased))
            and match.term == term
        ]


def _joined(one: Keyphrase, places: Iterable[tuple[int, int]]) -> Keyphrase:
    """A keyphrase that stands in more places; of those that overlap the first and longest."""
    kept: list[tuple[int, int]] = []
    for start, end in sorted({*one.places, *places}, key=lambda place: (place[0], -place[1])):
        if not kept or start >= kept[-1][1]:
            kept.append((start, end))
    evidence = None if kept else one.evidence
    return msgspec.structs.replace(one, places=tuple(kept), present=bool(kept), evidence=evidence)
