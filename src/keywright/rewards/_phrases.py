"""What rewards compare: the predicted and the gold phrases of one part, as stems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from keywright.matches import GoldPhrase, Part
from keywright.metric import Array
from keywright.protocol import Protocol
from keywright.types import Document

# What the release puts in the place of a repeated prediction: it counts, and it is wrong.
REPEATED = "<pad>"
# The gold of documents is kept from one update to the next, and the stems of phrases.
MOST_DOCUMENTS = 50_000
MOST_PHRASES = 500_000
# Phrases read at once: fewer than any protocol reads of one prediction at most.
AT_ONCE = 100


class Gold(NamedTuple):
    targets: tuple[str, ...]  # distinct, and none is empty
    names: frozenset[str]  # what equals a target: for most protocols the targets themselves


class Compared(NamedTuple):
    """The phrases of one document, as stems joined by blanks."""

    predictions: list[str]  # repeats as `REPEATED`; phrases without words are left out
    gold: Gold


class PhraseReader:
    """Reads phrases by a protocol's rules, each phrase and each document's gold once.

    The filters of a protocol are for evaluation: here, every predicted phrase counts.
    """

    def __init__(self, protocol: Protocol):
        self._protocol = protocol
        self._gold = lru_cache(MOST_DOCUMENTS)(self._read_gold)
        self._stems: dict[tuple[str, bool], tuple[str, ...]] = {}

    def __call__(
        self, documents: Sequence[Document], phrases: Sequence[Sequence[str]], part: Part
    ) -> list[Compared]:
        self._read_new(documents, phrases)
        return [
            Compared(self._predictions(texts, document.tokenised), self._gold(document, part))
            for document, texts in zip(documents, phrases, strict=True)
        ]

    def _read_gold(self, document: Document, part: Part) -> Gold:
        found = [phrase for phrase in self._protocol.read_gold(document) if _belongs(phrase, part)]
        targets = dict.fromkeys(phrase.stems for phrase in found if phrase.stems)
        names = frozenset(name for phrase in found for name in phrase.names if name)
        return Gold(tuple(targets), names)

    def _read_new(self, documents: Sequence[Document], phrases: Sequence[Sequence[str]]) -> None:
        """Read the phrases that were not seen before, those of a whole batch at once.

        How a protocol stems a phrase does not depend on the text it was predicted for, but on
        whether that is tokenised.
        """
        if len(self._stems) > MOST_PHRASES:
            self._stems.clear()
        for tokenised in (False, True):
            new = {
                text: None
                for document, texts in zip(documents, phrases, strict=True)
                if document.tokenised == tokenised
                for text in texts
                if (text, tokenised) not in self._stems
            }
            for some in _chunks(list(new)):
                self._read(some, tokenised)

    def _read(self, texts: Sequence[str], tokenised: bool) -> None:
        found: list[list[str]] = [[] for _ in texts]
        for phrase in self._protocol.read(Document(title="", body="", tokenised=tokenised), texts):
            if phrase.index is not None and phrase.stems:
                found[phrase.index].append(phrase.stems)
        for text, stems in zip(texts, found, strict=True):
            self._stems[text, tokenised] = tuple(stems)

    def _predictions(self, texts: Sequence[str], tokenised: bool) -> list[str]:
        seen: set[str] = set()
        found = []
        for text in texts:
            for stems in self._stems[text, tokenised]:
                found.append(REPEATED if stems in seen else stems)
                seen.add(stems)
        return found


def _chunks(texts: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(texts), AT_ONCE):
        yield texts[start : start + AT_ONCE]


def _belongs(phrase: GoldPhrase, part: Part) -> bool:
    if part == "all":
        return True
    return phrase.present if part == "present" else phrase.absent


def counts(compared: Sequence[Compared]) -> tuple[Array, Array, Array]:
    """How many predictions are correct, how many there are, and how many targets: [documents]."""
    correct = [sum(map(both.gold.names.__contains__, both.predictions)) for both in compared]
    predicted = [len(both.predictions) for both in compared]
    targets = [len(both.gold.targets) for both in compared]
    return np.array(correct, float), np.array(predicted, float), np.array(targets, float)
