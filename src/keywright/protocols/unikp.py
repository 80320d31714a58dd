"""unikp: the evaluator of UniKeyphrase (Wu et al. 2021), whose published scores are micro averages.

The release scores tagged phrases as present and generated ones as absent. Here a prediction is
present if it occurs in the text, which all tagged phrases do.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Literal

from keywright import protocol
from keywright.matches import Dropped, GoldPhrase, Judgement, ScoringRules
from keywright.metric import Metric
from keywright.protocol import Protocol, numbered, prepare, stemmed
from keywright.text.presence import padded
from keywright.text.stem import stems
from keywright.text.tokenise import DIGIT
from keywright.types import Document

NONE = "none"
"""What the release's models generate for a document without absent phrases."""

VARIANTS: tuple[tuple[str, ...], ...] = ((), ("compare=stems", "divide=stems"))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(protocol.Config):
    precision: Literal["cutoff", "predicted"] = "predicted"
    # Phrases are equal if their characters are, without blanks, or if their stems are.
    compare: Literal["characters", "stems"] = "characters"
    # A phrase is present if the text contains its words, or words with the same stems.
    divide: Literal["words", "stems"] = "words"


class UniKP(Protocol):
    name = "unikp"
    config: Config
    not_produced = Protocol.not_produced | {"separator", "no words"}
    standard = (
        "present.micro.P@M", "present.micro.R@M", "present.micro.F1@M", "present.micro.F1@5",
        "absent.micro.P@M", "absent.micro.R@M", "absent.micro.F1@M", "absent.micro.F1@5",
        *Protocol.standard,
    )  # fmt: skip

    def make_rules(self, config: Config) -> ScoringRules:
        return ScoringRules(
            divide_by="k" if config.precision == "cutoff" else "predicted",
            f1=config.f1,
            average_over=config.average_over,
        )

    def facts(self) -> list[str]:
        by_stems = self.config.compare == "stems"
        return [
            "phrases are equal if their stems are"
            if by_stems
            else "phrases are not stemmed, and are equal if their characters are, without blanks",
            f"present means that the {self.config.divide} occur in the text in a run",
            "repeats dropped on both sides, separately for present and absent phrases",
            f"an absent phrase {NONE!r} is ignored",
        ]

    def signature(self, metric: Metric | None = None) -> str:
        signature = super().signature(metric)
        by_stems = self.config.compare == "stems"
        return signature if by_stems else signature.replace("stem:porter", "stem:none")

    def judge(self, document: Document, phrases: Sequence[str]) -> Judgement:
        title, body, gold, predictions = prepare(document, phrases)
        source = f"{title} {body}".lower().split()
        text = padded(stems(source) if self.config.divide == "stems" else source)
        found = Judgement(document)
        names = self._read_gold(gold, text, found)
        seen: set[tuple[str, bool]] = set()
        for index, phrase in enumerate(predictions):
            words = phrase.lower().split()
            present = self._is_present(words, text)
            key = (self._key(words), present)
            dropped = _reason(key, seen)
            seen.add(key)
            # Equal phrases have the same name, although their words may be divided differently.
            name = names.get(key, self._name(words))
            found.add(index, name, present, dropped)
        return found

    def _read_gold(
        self, phrases: Sequence[str], text: str, found: Judgement
    ) -> dict[tuple[str, bool], str]:
        """Add the gold phrases; returns the name of each by its key and part."""
        names: dict[tuple[str, bool], str] = {}
        as_written = self.config.targets_stemmed
        for index, phrase in numbered(phrases):
            words = phrase.lower().split()
            name = " ".join(words) if as_written else self._name(words)
            key = name if self.config.compare == "stems" else "".join(words)
            present = self._is_present(words, text)
            # The release finds numbers in the text for present phrases, but not for absent ones.
            both = present and self.config.divide == "words" and DIGIT in phrase
            parts = (True, False) if both else (present,)
            new = [part for part in parts if (key, part) not in names and (key, part) != _IGNORED]
            if new:
                found.add_names(GoldPhrase(index, name, True in new, False in new, (name,)))
                names |= {(key, part): name for part in new}
        return names

    def _is_present(self, words: list[str], text: str) -> bool:
        run = stems(words) if self.config.divide == "stems" else words
        return bool(words) and padded(run) in text

    def _name(self, words: list[str]) -> str:
        return stemmed(words) if self.config.compare == "stems" else " ".join(words)

    def _key(self, words: list[str]) -> str:
        return self._name(words) if self.config.compare == "stems" else "".join(words)


_IGNORED = (NONE, False)


def _reason(key: tuple[str, bool], seen: set[tuple[str, bool]]) -> Dropped | None:
    """Why a predicted phrase does not count."""
    if not key[0]:
        return "no words"
    if key == _IGNORED:
        return "separator"
    return "repeat" if key in seen else None


def build(config: Config) -> UniKP:
    return UniKP(config)
