"""From gold keyphrases to target sequences and back: the only file that knows their layout.

One2One: every phrase is a target of its own. One2Seq: one sequence of all phrases, with `<sep>`
between them. One2Set: a set of phrases. Each sequence ends with `<eos>`. The ids of these marks are
the vocabulary's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from keywright.errors import ConfigError
from keywright.lexicon import Lexicon, SpecialIds
from keywright.text.presence import first_run
from keywright.text.stem import stems
from keywright.text.tokenise import document_words, words
from keywright.types import Document

Paradigm = Literal["one2one", "one2seq", "one2set"]
Order = Literal["present_absent", "absent_present", "random", "alphabetical", "length", "given"]
Generated = Literal["all", "absent", "present"]
"""Which phrases a model generates; present ones alone are spelled as in the text."""


class TargetPhrase(NamedTuple):
    words: tuple[str, ...]
    position: int | None  # first occurrence in the document's words, None where it is absent

    @property
    def present(self) -> bool:
        return self.position is not None


@dataclass(frozen=True)
class Targets:
    """How gold keyphrases become training targets.

    `mark_absent` writes `<peos>` instead of `<sep>` between the present and the absent phrases of a
    One2Seq sequence (Chan et al. 2019), also when one of the two parts is empty. `generated` leaves
    out the phrases that a model does not generate, because it finds them in another way.
    """

    paradigm: Paradigm
    order: Order = "present_absent"
    max_phrases: int | None = None  # further phrases are left out, after ordering
    max_phrase: int | None = None  # words; longer phrases are left out, because a part is wrong
    mark_absent: bool = False
    generated: Generated = "all"

    def __post_init__(self) -> None:
        for name, value, known in (
            ("paradigm", self.paradigm, get_args(Paradigm)),
            ("order", self.order, get_args(Order)),
        ):
            if value not in known:
                raise ConfigError(f"unknown {name} {value!r}; known: {', '.join(known)}")
        if self.mark_absent and (self.paradigm, self.order) != ("one2seq", "present_absent"):
            raise ConfigError("mark_absent needs paradigm one2seq and order present_absent")
        if self.mark_absent and self.generated != "all":
            raise ConfigError(
                f"mark_absent has no effect on a model that generates {self.generated} phrases"
            )

    def phrases(self, document: Document, rng: np.random.Generator) -> list[TargetPhrase]:
        """The distinct phrases of a document in target order; only order "random" uses `rng`."""
        phrases = gold_phrases(document)
        if self.generated == "absent":
            phrases = [phrase for phrase in phrases if not phrase.present]
        elif self.generated == "present":
            phrases = _as_in_text(phrases, document)
        if self.max_phrase is not None:
            phrases = [phrase for phrase in phrases if len(phrase.words) <= self.max_phrase]
        return _ordered(phrases, self.order, rng)[: self.max_phrases]

    def any(self, document: Document) -> bool:
        """Whether a document has phrases to learn from, without searching for them in the text."""
        counts = (len(words(text, document.tokenised)) for text in document.keyphrases or ())
        return any(0 < count <= (self.max_phrase or count) for count in counts)

    def sequences(
        self, phrases: Sequence[TargetPhrase], vocabulary: Lexicon, extension: Sequence[str]
    ) -> list[list[int]]:
        """Ids of the output space: one sequence for One2Seq, one per phrase otherwise."""
        special = vocabulary.special
        encoded = [vocabulary.encode_phrase(phrase.words, extension) for phrase in phrases]
        if self.paradigm != "one2seq":
            return [[*ids, special.eos] for ids in encoded]
        if not self.mark_absent:
            return [[*_joined(encoded, special.sep), special.eos]]
        if special.peos is None:
            raise ConfigError("data.mark_absent: the vocabulary has no token for it")
        count = sum(phrase.present for phrase in phrases)
        present, absent = (
            _joined(part, special.sep) for part in (encoded[:count], encoded[count:])
        )
        return [[*present, special.peos, *absent, special.eos]]


def gold_phrases(document: Document) -> list[TargetPhrase]:
    """The gold phrases in their given order, without empty ones and those with repeated stems."""
    title, body = (stems(part) for part in document_words(document))
    distinct: dict[tuple[str, ...], TargetPhrase] = {}
    for text in document.keyphrases or ():
        phrase = tuple(words(text, document.tokenised))
        key = tuple(stems(phrase))
        if key and key not in distinct:
            distinct[key] = TargetPhrase(phrase, _position(key, title, body))
    return list(distinct.values())


def _as_in_text(phrases: Sequence[TargetPhrase], document: Document) -> list[TargetPhrase]:
    """The present phrases with the words of their first occurrence."""
    title, body = document_words(document)
    text = [*title, *body]
    return [
        TargetPhrase(tuple(text[at : at + len(phrase.words)]), at)
        for phrase in phrases
        if (at := phrase.position) is not None
    ]


def _position(phrase: Sequence[str], title: Sequence[str], body: Sequence[str]) -> int | None:
    # Title and body are searched separately: a run across their border is a coincidence.
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


def _joined(phrases: Sequence[list[int]], separator: int) -> list[int]:
    ids: list[int] = []
    for phrase in phrases:
        if ids:
            ids.append(separator)
        ids.extend(phrase)
    return ids


def split(ids: Sequence[int], special: SpecialIds) -> list[tuple[int, int]]:
    """The [start, end) of every phrase in a generated sequence of any paradigm.

    Everything after the first `<eos>`, empty phrases and `<null>` are ignored. A phrase at the
    end without delimiter (the sequence was cut) has `end == len(ids)`.
    """
    spans = []
    start = 0
    delimiters = special.delimiters
    for at, token in enumerate(ids):
        if token in delimiters:
            spans.append((start, at))
            start = at + 1
        if token == special.eos:
            break
    else:
        spans.append((start, len(ids)))
    return [(a, b) for a, b in spans if a < b and special.null not in ids[a:b]]
