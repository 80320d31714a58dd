"""Distinct phrases of a prediction: what each is, where it stands, what the model thought of it.

One entry per distinct stemmed phrase of a document, its first occurrence. A protocol says how
words are split and stemmed, what is gold and what is present; its filters are not applied, because
a phrase that F1 would leave out (`<unk>`, a stray comma) was produced with a confidence, too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from keywright.analysis.position import Source
from keywright.calibration.perplexity import Length, confidence
from keywright.protocols._base import Protocol
from keywright.types import Document, Prediction, ScoredPhrase

# What a protocol may do to gold and not to predictions; here predictions are passed off as gold.
_GOLD_ONLY = ("targets_stemmed", "target_separated", "variants")


class Entry(NamedTuple):
    """A distinct phrase. `rank` counts from 0; `position` is None for an absent phrase."""

    phrase: ScoredPhrase
    stems: str
    rank: int
    present: bool
    position: float | None
    confidence: float | None

    @property
    def words(self) -> int:
        return self.stems.count(" ") + 1


class Splitter:
    """Reads predictions as a protocol reads gold: split, stemmed, told apart, never filtered."""

    def __init__(self, protocol: Protocol) -> None:
        config: Any = protocol.config
        changed = {name: False for name in _GOLD_ONLY if hasattr(config, name)}
        self._protocol = type(protocol)(dataclasses.replace(config, **changed))

    def entries(
        self, document: Document, prediction: Prediction, length: Length = "words"
    ) -> dict[str, Entry]:
        """Distinct phrases by their stems, in the order of the prediction."""
        found: dict[str, Entry] = {}
        present = self._present(document, prediction.texts)
        source: Source | None = None
        for phrase in prediction.phrases:
            for stems in self.stems(phrase.text, document.tokenised):
                if stems in found:
                    continue
                position = None
                if stems in present:
                    source = source or Source(document)
                    position = source.position(stems)
                found[stems] = Entry(
                    phrase,
                    stems,
                    len(found),
                    stems in present,
                    position,
                    confidence(phrase, length),
                )
        return found

    def stems(self, text: str, tokenised: bool) -> list[str]:
        """The stemmed phrases a text is read as: one, several (`client/server` for exhird), none.

        A phrase of nothing is no phrase.
        """
        alone = Document(title="", body="", keyphrases=(text,), tokenised=tokenised)
        return [stems for stems in self._protocol.match(alone, ()).all.targets if stems.strip()]

    def _present(self, document: Document, phrases: Sequence[str]) -> set[str]:
        as_gold = msgspec.structs.replace(document, keyphrases=tuple(phrases))
        return set(self._protocol.match(as_gold, ()).present.targets)
