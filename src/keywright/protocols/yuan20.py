"""yuan20: the evaluator of OpenNMT-kpg (Meng et al. 2017, Yuan et al. 2020, Meng et al. 2021)."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import Literal

from keywright import protocol
from keywright.matches import Dropped, Judgement, ScoringRules
from keywright.protocol import Protocol, numbered, prepare
from keywright.text.presence import padded
from keywright.text.stem import TABLE
from keywright.types import Document

_WORDS = re.compile(r"\w+")

VARIANTS: tuple[tuple[str, ...], ...] = (
    (),
    ("precision=cutoff",),
    ("average_over=with_targets",),
    ("tokeniser=split",),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(protocol.Config):
    precision: Literal["cutoff", "predicted"] = "predicted"
    f1: Literal["of_means", "mean_of_documents"] = "mean_of_documents"
    # Split at white space, or at every character that is not a letter, digit or underscore.
    tokeniser: Literal["split_nopunc", "split"] = "split_nopunc"


class Yuan20(Protocol):
    name = "yuan20"
    config: Config
    cutoffs = ("1", "3", "5", "10", "50", "M", "O")

    def make_rules(self, config: Config) -> ScoringRules:
        return ScoringRules(
            divide_by="k_if_any" if config.precision == "cutoff" else "predicted",
            f1=config.f1,
            average_over=config.average_over,
            ideal="targets",
            alpha="token_sets",
        )

    def facts(self) -> list[str]:
        whole = self.config.tokeniser == "split"
        return [
            "words are split at blanks, with a dot between title and body"
            if whole
            else "punctuation is ignored",
            "presence by tokens",
            "repeated predictions are dropped, repeated gold is kept and counts in recall",
        ]

    def judge(self, document: Document, phrases: Sequence[str]) -> Judgement:
        title, body, gold, predictions = prepare(document, phrases)
        tokens, unknown = self._tokeniser()
        source = padded([TABLE[word] for word in tokens(f"{title} . {body}")])
        found = Judgement(document)
        for index, phrase in numbered(gold):
            words = tokens(phrase)
            text = " ".join(words if self.config.targets_stemmed else [TABLE[w] for w in words])
            # The release's search for an empty run succeeds at once: such gold is "present".
            found.add_gold(index, text, not text or f" {text} " in source)
        invalid = {".", ",", unknown}
        seen: set[str] = set()
        for index, phrase in enumerate(predictions):
            words = tokens(phrase)
            stems = [TABLE[word] for word in words]
            text, key = " ".join(stems), "_".join(stems)  # the release compares the latter
            dropped: Dropped | None = None
            # Validity is judged before stemming; repeats of invalid phrases are repeats, too.
            if key in seen:
                dropped = "repeat"
            elif not words:
                dropped = "no words"
            elif not invalid.isdisjoint([word.lower() for word in words]):
                dropped = "invalid token"
            seen.add(key)
            found.add(index, text, bool(text) and f" {text} " in source, dropped)
        return found

    def _tokeniser(self) -> tuple[Callable[[str], list[str]], str]:
        if self.config.tokeniser == "split":
            return str.split, "<unk>"
        return _WORDS.findall, "unk"


def build(config: Config) -> Yuan20:
    return Yuan20(config)
