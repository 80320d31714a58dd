"""chan19: the evaluator of Chan et al. (2019), used by most of the field since.

The One2Set release (Ye et al. 2021) copied it with one change: an empty prediction line means no
predictions, while the RL release reads it as one empty phrase. The defaults are the flags of the
releases' scripts; `one_word_filter=true,unk=valid` are the defaults of the program itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Literal

from keywright import protocol
from keywright.errors import ConfigError
from keywright.matches import Dropped, GoldPhrase, Judgement, ScoringRules
from keywright.protocol import Protocol, numbered, prepare, stemmed
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
class Config(protocol.Config):
    # An empty prediction line means no predictions (one2set) or one empty phrase (rl).
    release: Literal["one2set", "rl"] = "one2set"
    # Keep only the first one-word phrase of the list.
    one_word_filter: bool = False
    # Whether a phrase with <unk> is dropped.
    unk: Literal["invalid", "valid"] = "invalid"
    # Predictions contain <peos> between present and absent phrases: drop it.
    prediction_separated: bool = False
    # Gold contains <peos>: phrases before it are present, phrases after it absent.
    target_separated: bool = False
    # Gold phrases are name variants joined by "|": each of them is correct.
    variants: bool = False
    # A phrase is present if it is a run of tokens, or a substring of characters.
    presence: Literal["tokens", "characters"] = "tokens"
    # At most this many phrases of a prediction are read.
    most_predictions: int = 200

    def __post_init__(self) -> None:
        if self.most_predictions < 1:
            raise ConfigError(f"most_predictions={self.most_predictions} must be at least 1")


class Chan19(Protocol):
    name = "chan19"
    config: Config

    def make_rules(self, config: Config) -> ScoringRules:
        return ScoringRules(
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
            "any name of a gold phrase (a|b) is correct" * config.variants,
            f"at most {config.most_predictions} predictions are read",
        ]

    def judge(self, document: Document, phrases: Sequence[str]) -> Judgement:
        title, body, gold, predictions = prepare(document, phrases)
        inside = self._presence(title, body)
        found = Judgement(document)
        if self.config.variants:
            self._read_variants(document, inside, found)
        else:
            self._read_gold(gold, inside, found)
        self._read_predictions(predictions, inside, found)
        return found

    def _presence(self, title: str, body: str) -> Presence:
        source = title.strip().split(" ")
        for piece in body.split(TITLE_END):  # a second <eos> is dropped like the first
            source += piece.strip().split(" ")
        return Presence(stemmed(source), by_tokens=self.config.presence == "tokens")

    def _read_gold(self, phrases: Sequence[str], inside: Presence, found: Judgement) -> None:
        """Gold loses its repeats and nothing else."""
        separated = self.config.target_separated
        before_separator = True
        seen: set[str] = set()
        for index, phrase in numbered(phrases):
            stems = self._stem(phrase.strip().split(" "))
            key = "_".join(stems)
            if key in seen:
                continue
            seen.add(key)
            text = " ".join(stems)
            if separated and stems[0] == SEPARATOR:
                before_separator = False
                found.add_names(GoldPhrase(index, text, False, False, (text,)))
            else:
                found.add_gold(index, text, before_separator if separated else text in inside)

    def _read_variants(self, document: Document, inside: Presence, found: Judgement) -> None:
        """A gold phrase with names inside and outside the text belongs to both parts.

        It is listed by its first name; any name makes a hit.
        """
        for index, phrase in numbered(document.keyphrases or ()):
            names = tuple(
                " ".join(self._stem(words(name, document.tokenised))) for name in phrase.split("|")
            )
            present = any(name in inside for name in names)
            absent = any(name not in inside for name in names)
            found.add_names(GoldPhrase(index, names[0], present, absent, names))

    def _stem(self, words: list[str]) -> list[str]:
        return words if self.config.targets_stemmed else [TABLE[word] for word in words]

    def _read_predictions(self, phrases: Sequence[str], inside: Presence, found: Judgement) -> None:
        if not phrases and self.config.release == "rl":
            found.add(None, "", present=False)
        filters = Filters(self.config)
        for index, phrase in enumerate(phrases):
            stems = [TABLE[word] for word in phrase.strip().split(" ")]
            dropped = filters(stems, index)
            text = " ".join(stems)
            found.add(index, text, dropped != "separator" and text in inside, dropped)


class Filters:
    """The filters of one document's predictions, which must come in order.

    Each filter looks at the unfiltered list: a repeat of a phrase that was itself dropped is still
    a repeat, and the first one-word phrase is the first even if it is invalid.
    """

    def __init__(self, config: Config) -> None:
        self._most = config.most_predictions
        self._separator = SEPARATOR if config.prediction_separated else None
        self._invalid = {",", ".", "<unk>"} if config.unk == "invalid" else {",", "."}
        self._seen: set[str] = set()
        self._one_word_filter = config.one_word_filter
        self._one_word_seen = False

    def __call__(self, stems: list[str], index: int) -> Dropped | None:
        """Why the phrase of this number is dropped, None if it is kept."""
        if index >= self._most:
            return "beyond the limit"
        if stems[0] == self._separator:
            return "separator"
        extra = self._one_word_filter and len(stems) == 1 and self._one_word_seen
        self._one_word_seen = self._one_word_seen or len(stems) == 1
        key = "_".join(stems)
        if key in self._seen:
            return "repeat"
        self._seen.add(key)
        if extra:
            return "one-word filter"
        return None if self._invalid.isdisjoint(stems) else "invalid token"


class Presence:
    """Whether a stemmed phrase occurs in the stemmed source; the empty phrase never does."""

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
