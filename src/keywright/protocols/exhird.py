"""exhird: the evaluator of Chen et al. (2020)."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from typing import Literal

from keywright.metrics._matches import Matches, Rules
from keywright.protocols import _base
from keywright.protocols._base import Produced, Protocol, Side, matches, prepare, stemmed
from keywright.text.presence import padded
from keywright.text.stem import stems
from keywright.types import Document

# The release writes all of these as ";", so that `client/server` becomes two phrases.
_BORDER = re.compile(r"/|<p_start>|<a_start>|<p_end>|<a_end>|;")
_DELETED = re.compile(r"<eokp>|<blank>")

VARIANTS: tuple[tuple[str, ...], ...] = ((), ("f1=of_means",))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(_base.Config):
    f1: Literal["of_means", "mean_of_documents"] = "mean_of_documents"


class ExHiRD(Protocol):
    name = "exhird"

    def make_rules(self, config: Config) -> Rules:
        return Rules(
            divide_by="k" if config.precision == "cutoff" else "predicted",
            f1=config.f1,
            average_over=config.average_over,
            duplicates="documents",
        )

    def facts(self) -> list[str]:
        return [
            "a slash splits a phrase in two",
            "presence by tokens, and the border between title and body cannot be crossed",
            "repeats dropped on both sides",
            "predictions containing <unk> are dropped, those with dots and commas are not",
        ]

    def match(self, document: Document, phrases: Sequence[str]) -> Matches:
        title, body, gold, predictions = prepare(document, phrases)
        border = ["<eos>"] if title else []
        source = padded(stems([*title.split(), *border, *body.split()]))
        targets, made, produced = Side(), Side(), Produced()
        for phrase in dict.fromkeys(self._targets(gold)):
            targets.add(phrase, f" {phrase} " in source)
        seen: set[str] = set()
        for phrase in (stemmed(piece.split()) for piece in _pieces(predictions)):
            if "<unk>" in phrase:
                continue
            present = f" {phrase} " in source
            produced.add(present, repeated=phrase in seen)
            if phrase not in seen:
                seen.add(phrase)
                made.add(phrase, present)
        return matches(made, targets, produced)

    def _targets(self, phrases: Sequence[str]) -> Iterator[str]:
        for piece in _pieces(phrases):
            words = piece.split()
            yield " ".join(words) if self.config.targets_stemmed else stemmed(words)


def _pieces(phrases: Sequence[str]) -> Iterator[str]:
    for phrase in phrases:
        for piece in _BORDER.split(_DELETED.sub("", phrase)):
            if piece.strip() not in ("", "<absent_end>"):
                yield piece


def build(config: Config) -> ExHiRD:
    return ExHiRD(config)
