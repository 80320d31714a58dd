"""kpdrop: the evaluator of Ray Chowdhury et al. (2022).

Presence is a matter of characters, and only whole phrases are filtered. `F1@5` divides by the
predictions there are, `F1@5R` by 5.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Literal

from keywright.metrics._matches import Matches, Rules
from keywright.protocols import _base
from keywright.protocols._base import Produced, Protocol, Side, matches, prepare, stemmed
from keywright.types import Document

DROPPED = frozenset({"", "<peos>", ",", ".", "<unk>"})

VARIANTS: tuple[tuple[str, ...], ...] = ((), ("precision=cutoff",))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(_base.Config):
    precision: Literal["cutoff", "predicted"] = "predicted"


class KPDrop(Protocol):
    name = "kpdrop"
    cutoffs = ("5", "5R", "10", "50", "M", "O")
    standard = ("present.F1@5R", "absent.F1@5R", "all.F1@5R", *Protocol.standard)

    def make_rules(self, config: Config) -> Rules:
        return Rules(
            divide_by="k" if config.precision == "cutoff" else "predicted",
            f1=config.f1,
            average_over=config.average_over,
        )

    def facts(self) -> list[str]:
        return [
            "present means that the stemmed characters occur in the stemmed text, so `net` is in "
            "`network`",
            "repeats dropped on both sides",
            "a prediction is dropped only if it is nothing but <unk> or a dot or comma",
            "P@5R always divides by 5",
        ]

    def match(self, document: Document, phrases: Sequence[str]) -> Matches:
        title, body, gold, predictions = prepare(document, phrases)
        line = f"{title} <eos> {body}".lower().strip().replace(" <eos>", "")
        source = stemmed(line.split(" "))
        targets, made, produced = Side(), Side(), Produced()
        for phrase in dict.fromkeys(self._targets(gold)):
            targets.add(phrase, phrase in source)
        seen: set[str] = set()
        for phrase in _predictions(predictions):
            present = phrase in source
            produced.add(present, repeated=phrase in seen)
            if phrase not in seen:
                seen.add(phrase)
                made.add(phrase, present)
        return matches(made, targets, produced)

    def _targets(self, phrases: Sequence[str]) -> Iterator[str]:
        """The release splits the padded line at " ; ", so an empty piece glues a ";" to its
        neighbour; joining the pieces again keeps even that."""
        line = " ".join(";".join(phrases).lower().replace(";", " ; ").split())
        for phrase in line.split(" ; "):
            if phrase not in ("", "<peos>"):
                words = phrase.split(" ")
                yield phrase if self.config.targets_stemmed else stemmed(words)


def _predictions(phrases: Sequence[str]) -> Iterator[str]:
    line = ";".join(phrases).partition("<eos>")[0]
    for piece in line.split(";"):
        phrase = piece.lower().strip()
        if phrase not in DROPPED:
            yield stemmed(phrase.split(" "))


def build(config: Config) -> KPDrop:
    return KPDrop(config)
