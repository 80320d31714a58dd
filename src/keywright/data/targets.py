"""From gold keyphrases to target sequences and back: the only file that knows separators and order.

One2One: every phrase is a target of its own. One2Seq: one sequence of all phrases, `<sep>` between
them. One2Set: a set of phrases. Each sequence ends with `<eos>`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from keywright.data.vocab import BOS, EOS, NULL, PAD, PEOS, SEP, Lexicon
from keywright.errors import ConfigError
from keywright.text.presence import first_run
from keywright.text.stem import stems
from keywright.text.tokenise import document_words, words
from keywright.types import Document

Paradigm = Literal["one2one", "one2seq", "one2set"]
Order = Literal["present_absent", "absent_present", "random", "alphabetical", "length", "given"]

DELIMITERS = (SEP, PEOS, EOS)
"""What stands after a phrase."""
NEVER_GENERATED = (PAD, BOS)
"""What no target contains, so that decoders need not consider it."""


class TargetPhrase(NamedTuple):
    words: tuple[str, ...]
    position: int | None  # first occurrence in the document's words, None where it is absent

    @property
    def present(self) -> bool:
        return self.position is not None


@dataclass(frozen=True)
class Targets:
    """How gold keyphrases become training targets.

    `mark_absent` writes `<peos>` in place of the `<sep>` between present and absent phrases of a
    One2Seq sequence (Chan et al. 2019), also when one of the two parts is empty.
    """

    paradigm: Paradigm
    order: Order = "present_absent"
    max_phrases: int | None = None  # phrases beyond are left out, after ordering
    max_phrase: int | None = None  # words; longer phrases are left out: cut, they would be wrong
    mark_absent: bool = False

    def __post_init__(self) -> None:
        for name, value, known in (
            ("paradigm", self.paradigm, get_args(Paradigm)),
            ("order", self.order, get_args(Order)),
        ):
            if value not in known:
                raise ConfigError(f"unknown {name} {value!r}; known: {', '.join(known)}")
        if self.mark_absent and (self.paradigm, self.order) != ("one2seq", "present_absent"):
            raise ConfigError("mark_absent needs paradigm one2seq and order present_absent")

    def phrases(self, document: Document, rng: np.random.Generator) -> list[TargetPhrase]:
        """The distinct phrases of a document in target order; only "random" uses `rng`."""
        phrases = gold_phrases(document)
        if self.max_phrase is not None:
            phrases = [phrase for phrase in phrases if len(phrase.words) <= self.max_phrase]
        return _ordered(phrases, self.order, rng)[: self.max_phrases]

    def any(self, document: Document) -> bool:
        """Whether `phrases` gives any, without finding where they stand."""
        counts = (len(words(text, document.tokenised)) for text in document.keyphrases or ())
        return any(0 < count <= (self.max_phrase or count) for count in counts)

    def sequences(
        self, phrases: Sequence[TargetPhrase], vocabulary: Lexicon, extension: Sequence[str]
    ) -> list[list[int]]:
        """Ids of the output space: one sequence for One2Seq, one per phrase otherwise."""
        encoded = [vocabulary.encode_phrase(phrase.words, extension) for phrase in phrases]
        if self.paradigm != "one2seq":
            return [[*ids, EOS] for ids in encoded]
        present = sum(phrase.present for phrase in phrases)
        if self.mark_absent:
            return [[*_joined(encoded[:present]), PEOS, *_joined(encoded[present:]), EOS]]
        return [[*_joined(encoded), EOS]]


def gold_phrases(document: Document) -> list[TargetPhrase]:
    """The gold phrases as given, without those that are empty or repeat another one's stems."""
    title, body = (stems(part) for part in document_words(document))
    distinct: dict[tuple[str, ...], TargetPhrase] = {}
    for text in document.keyphrases or ():
        phrase = tuple(words(text, document.tokenised))
        key = tuple(stems(phrase))
        if key and key not in distinct:
            distinct[key] = TargetPhrase(phrase, _position(key, title, body))
    return list(distinct.values())


def _position(phrase: Sequence[str], title: Sequence[str], body: Sequence[str]) -> int | None:
    # Title and body are searched apart: a run over their border is an accident.
    at = first_run(phrase, title)
    if at is not None:
        return at
    at = first_run(phrase, body)
    return None if at is None else len(title) + at


def _ordered(
    phrases: list[TargetPhrase], order: Order, rng: np.random.Generator
) -> list[TargetPhrase]:
    match order:
        case "given":
            return phrases
        case "random":
            return [phrases[i] for i in rng.permutation(len(phrases))]
        case "alphabetical":
            return sorted(phrases, key=lambda phrase: phrase.words)
        case "length":
            return sorted(phrases, key=lambda phrase: len(phrase.words))
    found = sorted((p for p in phrases if p.present), key=lambda phrase: phrase.position or 0)
    absent = [phrase for phrase in phrases if not phrase.present]
    return [*found, *absent] if order == "present_absent" else [*absent, *found]


def _joined(phrases: Sequence[list[int]]) -> list[int]:
    ids: list[int] = []
    for phrase in phrases:
        if ids:
            ids.append(SEP)
        ids.extend(phrase)
    return ids


def split(ids: Sequence[int]) -> list[tuple[int, int]]:
    """The [start, end) of every phrase of a generated sequence of any paradigm.

    Nothing after the first `<eos>` counts, nor do empty phrases and `<null>`. A last phrase that
    no delimiter closes (the sequence was cut) has `end == len(ids)`.
    """
    spans = []
    start = 0
    for at, token in enumerate(ids):
        if token in DELIMITERS:
            spans.append((start, at))
            start = at + 1
        if token == EOS:
            break
    else:
        spans.append((start, len(ids)))
    return [(a, b) for a, b in spans if a < b and NULL not in ids[a:b]]
