"""Keyphrases in the words of a controlled vocabulary."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

import msgspec

from keywright.errors import UnknownNameError
from keywright.generation.keyphrases import (
    Choice,
    Keyphrase,
    SearchedText,
    merge,
    rank,
    spell,
    with_evidence,
)
from keywright.text.reading import Characters, literal_stems
from keywright.types import Document, Prediction
from keywright.vocabularies.term import Term
from keywright.vocabularies.terms import Terms

Mode = Literal["only", "mark"]
MODES: tuple[Mode, ...] = get_args(Mode)


@dataclass(frozen=True)
class Controlled:
    """Maps a prediction to the terms of a vocabulary.

    `only` keeps phrases that match a term; `mark` keeps all and marks those that match none as
    new. Phrases that match the same term become one, with the highest of their probabilities.
    """

    terms: Terms
    mode: Mode = "only"

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise UnknownNameError("vocabulary mode", self.mode, MODES)

    def __call__(
        self, document: Document, prediction: Prediction, choose: Choice = list
    ) -> list[Keyphrase]:
        text = SearchedText(document)
        ranked = rank(prediction)
        # Terms are never near-repeats of each other: the vocabulary distinguishes them.
        distinct = {phrase.rank for phrase in merge(ranked)}
        found: dict[Term | int, Keyphrase] = {}
        for phrase in ranked:
            keyphrase = spell(text, phrase)
            if keyphrase is None:
                continue
            if not keyphrase.present:
                keyphrase = with_evidence(text, keyphrase, phrase.stems)
            term = self._term(text, keyphrase)
            if term is None:
                if self.mode == "mark" and phrase.rank in distinct:
                    found[phrase.rank] = msgspec.structs.replace(keyphrase, new=True)
            elif term in found:
                joined = _joined(found[term], self._matching(text, term, keyphrase.places))
                recommended = joined.recommended or keyphrase.recommended
                found[term] = msgspec.structs.replace(joined, recommended=recommended)
            else:
                found[term] = self._named(text, term, keyphrase)
        return choose(list(found.values()))

    def _term(self, text: SearchedText, keyphrase: Keyphrase) -> Term | None:
        match = self.terms.find(keyphrase.text, cased=keyphrase.present and text.cased)
        return match.term if match else None

    def _named(self, text: SearchedText, term: Term, keyphrase: Keyphrase) -> Keyphrase:
        places = self._matching(text, term, keyphrase.places)
        for name in term.names:
            places += self._matching(text, term, text.places(literal_stems(name)))
        named = msgspec.structs.replace(
            keyphrase, text=term.text, id=term.id, written=keyphrase.text, places=()
        )
        return _joined(named, places)

    def _matching(
        self, text: SearchedText, term: Term, places: Iterable[Characters]
    ) -> list[Characters]:
        """The places whose spelling matches the term: "AIDS" and "aid" have the same stem."""
        return [
            (start, end)
            for start, end in places
            if (match := self.terms.find(text.text[start:end], cased=text.cased))
            and match.term == term
        ]


def _joined(keyphrase: Keyphrase, places: Iterable[Characters]) -> Keyphrase:
    """A keyphrase with further places; of overlapping ones the first and longest."""
    kept: list[Characters] = []
    every = {*keyphrase.places, *places}
    for start, end in sorted(every, key=lambda place: (place[0], -place[1])):
        if not kept or start >= kept[-1][1]:
            kept.append((start, end))
    return msgspec.structs.replace(
        keyphrase,
        places=tuple(kept),
        present=bool(kept),
        evidence=None if kept else keyphrase.evidence,
    )
