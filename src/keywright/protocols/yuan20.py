"""yuan20: the evaluator of OpenNMT-kpg (Meng et al. 2017, Yuan et al. 2020, Meng et al. 2021)."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import Literal

from keywright.metrics._base import Metric
from keywright.metrics._matches import Matches, Rules
from keywright.protocols import _base
from keywright.protocols._base import Produced, Protocol, Side, matches, prepare
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
class Config(_base.Config):
    precision: Literal["cutoff", "predicted"] = "predicted"
    f1: Literal["of_means", "mean_of_documents"] = "mean_of_documents"
    # White space, or every character that is not a letter, digit or underscore (punctuation goes).
    tokeniser: Literal["split_nopunc", "split"] = "split_nopunc"


class Yuan20(Protocol):
    name = "yuan20"
    config: Config
    cutoffs = ("1", "3", "5", "10", "50", "M", "O")

    def make_rules(self, config: Config) -> Rules:
        return Rules(
            divide_by="k_if_any" if config.precision == "cutoff" else "predicted",
            f1=config.f1,
            average_over=config.average_over,
            ideal="targets",
            alpha="token_sets",
        )

    def facts(self) -> list[str]:
        whole = self.config.tokeniser == "split"
        return [
            "words are split at blanks and a dot stands between title and body"
            if whole
            else "punctuation is ignored",
            "presence by tokens",
            "repeated predictions are dropped, repeated gold is kept and counts in recall",
        ]

    def metrics(self) -> tuple[Metric, ...]:
        extra = [f"{part}.{name}" for part in ("present", "absent", "all") for name in _ADVANCED]
        return super().metrics() + tuple(Metric.parse(name) for name in extra)

    def match(self, document: Document, phrases: Sequence[str]) -> Matches:
        title, body, gold, predictions = prepare(document, phrases)
        tokens, unknown = self._tokeniser()
        source = padded([TABLE[word] for word in tokens(f"{title} . {body}")])
        targets, made, produced = Side(), Side(), Produced()
        for phrase in gold or ("",):
            words = tokens(phrase)
            text = " ".join(words if self.config.targets_stemmed else [TABLE[w] for w in words])
            # The release's search for an empty run succeeds at once: such gold is "present".
            targets.add(text, not text or f" {text} " in source)
        seen: set[str] = set()
        for phrase in predictions:
            words = tokens(phrase)
            stems = [TABLE[word] for word in words]
            text, key = " ".join(stems), "_".join(stems)  # the release compares the latter
            present = bool(text) and f" {text} " in source
            produced.add(present, repeated=key in seen)
            # Validity is judged before stemming; an invalid phrase still makes later ones repeats.
            invalid = not words or any(word.lower() in (".", ",", unknown) for word in words)
            if key not in seen and not invalid:
                made.add(text, present)
            seen.add(key)
        return matches(made, targets, produced)

    def _tokeniser(self) -> tuple[Callable[[str], list[str]], str]:
        if self.config.tokeniser == "split":
            return str.split, "<unk>"
        return _WORDS.findall, "unk"


_ADVANCED = ("MRR", "SADR")


def build(config: Config) -> Yuan20:
    return Yuan20(config)
