"""chan19: the evaluator of Chan et al. (2019), used by most of the field since.

The One2Set release (Ye et al. 2021) copied it with one change: an empty prediction line is no
prediction, where the RL release reads it as one empty phrase. The defaults are the flags of the
releases' scripts; `one_word_filter=true,unk=valid` are the defaults of the program itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Literal

from keywright.errors import ConfigError
from keywright.metrics._matches import Matches, Part, Rules, hits
from keywright.protocols import _base
from keywright.protocols._base import Produced, Protocol, Side, matches, prepare, stemmed
from keywright.text.stem import TABLE
from keywright.text.tokenise import words
from keywright.types import Document

SEPARATOR = "<peos>"
TITLE_END = "<eos>"

VARIANTS: tuple[tuple[str, ...], ...] = (
    (),
    ("precision=predicted",),
    ("release=rl", "one_word_filter=true", "unk=valid"),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(_base.Config):
    # An empty prediction line is no prediction (one2set) or one empty phrase (rl).
    release: Literal["one2set", "rl"] = "one2set"
    # Keep only the first one-word phrase of the list.
    one_word_filter: bool = False
    # Whether a phrase with an <unk> is thrown away.
    unk: Literal["invalid", "valid"] = "invalid"
    # Predictions contain <peos> between present and absent phrases: drop it.
    prediction_separated: bool = False
    # Gold contains <peos>: what stands before it is present, after it absent, whatever the text.
    target_separated: bool = False
    # Gold phrases are name variants joined by "|": any of them is right.
    variants: bool = False
    # Present means a run of tokens, or a substring of characters.
    presence: Literal["tokens", "characters"] = "tokens"
    # Only so many phrases of a prediction are read.
    most_predictions: int = 200

    def __post_init__(self) -> None:
        if self.most_predictions < 1:
            raise ConfigError(f"most_predictions={self.most_predictions} leaves none; at least 1")


class Chan19(Protocol):
    name = "chan19"
    config: Config

    def make_rules(self, config: Config) -> Rules:
        return Rules(
            divide_by="k_if_any" if config.precision == "cutoff" else "predicted",
            f1=config.f1,
            average_over=config.average_over,
        )

    def facts(self) -> list[str]:
        config = self.config
        by_tokens = config.presence == "tokens"
        return [
            f"presence by {'tokens' if by_tokens else 'characters'} in title + body",
            "repeats dropped on both sides",
            "predictions with a word that is a dot or comma"
            f"{' or <unk>' if config.unk == 'invalid' else ', but not those with <unk>,'} "
            "are dropped",
            "only the first one-word prediction is kept" * config.one_word_filter,
            "an empty prediction line is one empty phrase" * (config.release == "rl"),
            "<peos> among the predictions is dropped" * config.prediction_separated,
            "gold before <peos> is present, after it absent" * config.target_separated,
            "any name of a gold phrase (a|b) is right" * config.variants,
            f"at most {config.most_predictions} predictions are read",
        ]

    def match(self, document: Document, phrases: Sequence[str]) -> Matches:
        title, body, gold, predictions = prepare(document, phrases)
        inside = self._presence(title, body)
        made, produced = self._predictions(predictions, inside)
        if self.config.variants:
            return self._match_variants(document, inside, made, produced)
        return matches(made, self._targets(gold, inside), produced)

    def _presence(self, title: str, body: str) -> Presence:
        source = title.strip().split(" ")
        for piece in body.split(TITLE_END):  # a second <eos> is dropped like the first
            source += piece.strip().split(" ")
        return Presence(stemmed(source), by_tokens=self.config.presence == "tokens")

    def _predictions(self, phrases: Sequence[str], inside: Presence) -> tuple[Side, Produced]:
        """Apply the filters. Each judges the unfiltered list: a repeat of a phrase that was itself
        thrown away is still a repeat, and a first one-word phrase counts even if it is invalid."""
        config = self.config
        side, produced = Side(), Produced()
        invalid = {",", ".", "<unk>"} if config.unk == "invalid" else {",", "."}
        if not phrases and config.release == "rl":
            phrases = ("",)
        seen: set[str] = set()
        one_word_seen = False
        for phrase in phrases[: config.most_predictions]:
            stems = [TABLE[word] for word in phrase.strip().split(" ")]
            if config.prediction_separated and stems[0] == SEPARATOR:
                produced.add(present=False, repeated=False)
                continue
            key = "_".join(stems)
            repeated = key in seen
            seen.add(key)
            text = " ".join(stems)
            present = text in inside
            produced.add(present, repeated)
            extra = one_word_seen and len(stems) == 1
            one_word_seen = one_word_seen or len(stems) == 1
            if repeated or (extra and config.one_word_filter) or not invalid.isdisjoint(stems):
                continue
            side.add(text, present)
        return side, produced

    def _stem(self, words: list[str]) -> list[str]:
        return words if self.config.targets_stemmed else [TABLE[word] for word in words]

    def _targets(self, phrases: Sequence[str], inside: Presence) -> Side:
        """Gold loses its repeats and nothing else; no gold is one empty, absent phrase."""
        side = Side()
        seen: set[str] = set()
        separated = self.config.target_separated
        before_separator = True
        for phrase in phrases or ("",):
            stems = self._stem(phrase.strip().split(" "))
            key = "_".join(stems)
            if key in seen:
                continue
            seen.add(key)
            text = " ".join(stems)
            if separated and stems[0] == SEPARATOR:
                before_separator = False
                side.all.append(text)
            else:
                side.add(text, before_separator if separated else text in inside)
        return side

    def _match_variants(
        self, document: Document, inside: Presence, made: Side, produced: Produced
    ) -> Matches:
        """A gold phrase with names inside and outside the text belongs to both parts.

        A part's targets are listed by their first names; any name makes a hit.
        """
        gold = document.keyphrases or ("",)
        groups = [list(self._variants(phrase, document.tokenised)) for phrase in gold]
        present = [names for names in groups if any(name in inside for name in names)]
        absent = [names for names in groups if any(name not in inside for name in names)]

        def part(predictions: list[str], gold: list[list[str]], total: int, unique: int) -> Part:
            found = hits(predictions, [name for names in gold for name in names])
            return Part(predictions, [names[0] for names in gold], found, total, unique)

        total, unique = produced.present, produced.present_unique
        return Matches(
            part(made.present, present, total, unique),
            part(made.absent, absent, produced.total - total, produced.unique - unique),
            part(made.all, groups, produced.total, produced.unique),
        )

    def _variants(self, phrase: str, tokenised: bool) -> Iterator[str]:
        for name in phrase.split("|"):
            yield " ".join(self._stem(words(name, tokenised)))


class Presence:
    """Whether a stemmed phrase stands in the stemmed source; the empty phrase never does."""

    __slots__ = ("by_tokens", "source")

    def __init__(self, source: str, by_tokens: bool) -> None:
        self.source = f" {source} " if by_tokens else source
        self.by_tokens = by_tokens

    def __contains__(self, phrase: str) -> bool:
        if not phrase.strip():
            return False
        return (f" {phrase} " if self.by_tokens else phrase) in self.source


def build(config: Config) -> Chan19:
    return Chan19(config)
