"""exhird: the evaluator of Chen et al. (2020)."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from typing import Literal

from keywright import protocol
from keywright.matches import Dropped, Judgement, ScoringRules
from keywright.protocol import Protocol, prepare, stemmed
from keywright.text.presence import padded
from keywright.text.stem import stems
from keywright.types import Document

# The release replaces all of these by ";", so that `client/server` becomes two phrases.
_BORDER = re.compile(r"/|<p_start>|<a_start>|<p_end>|<a_end>|;")
_DELETED = re.compile(r"<eokp>|<blank>")

VARIANTS: tuple[tuple[str, ...], ...] = ((), ("f1=of_means",))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(protocol.Config):
    f1: Literal["of_means", "mean_of_documents"] = "mean_of_documents"


class ExHiRD(Protocol):
    name = "exhird"
    not_produced = Protocol.not_produced | {"invalid token"}

    def make_rules(self, config: Config) -> ScoringRules:
        return ScoringRules(
            divide_by="k" if config.precision == "cutoff" else "predicted",
            f1=config.f1,
            average_over=config.average_over,
            duplicates="documents",
        )

    def facts(self) -> list[str]:
        return [
            "a slash splits a phrase in two",
            "presence by tokens, within the title or within the body",
            "repeats dropped on both sides",
            "predictions containing <unk> are dropped, those with dots and commas are not",
        ]

    def judge(self, document: Document, phrases: Sequence[str]) -> Judgement:
        title, body, gold, predictions = prepare(document, phrases)
        border = ["<eos>"] if title else []
        source = padded(stems([*title.split(), *border, *body.split()]))
        found = Judgement(document)
        as_written = self.config.targets_stemmed
        seen: set[str] = set()
        for index, words in _pieces(gold):
            phrase = " ".join(words) if as_written else stemmed(words)
            if phrase not in seen:
                seen.add(phrase)
                found.add_gold(index, phrase, f" {phrase} " in source)
        seen = set()
        for index, words in _pieces(predictions):
            phrase = stemmed(words)
            dropped: Dropped | None = "repeat" if phrase in seen else None
            if "<unk>" in phrase:
                dropped = "invalid token"
            else:
                seen.add(phrase)
            found.add(index, phrase, f" {phrase} " in source, dropped)
        return found


def _pieces(phrases: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """The words of every phrase, with the number of the text that it was read from."""
    for index, phrase in enumerate(phrases):
        for piece in _BORDER.split(_DELETED.sub("", phrase)):
            if piece.strip() not in ("", "<absent_end>"):
                yield index, piece.split()


def build(config: Config) -> ExHiRD:
    return ExHiRD(config)
