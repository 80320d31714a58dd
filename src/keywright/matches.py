"""What a protocol makes of one document: phrases judged one by one, and the matches of each part.

`Protocol.judge` reads the gold and the predictions of a document. Matches, calibration, rewards and
the report all follow from its `Judgement`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import msgspec

from keywright.text.reading import Characters, Reading
from keywright.types import Document

Part = Literal["present", "absent", "all"]
PARTS: tuple[Part, ...] = get_args(Part)
SPLIT_PARTS: tuple[Part, ...] = ("present", "absent")
"""The parts that a document's phrases are split into."""

Dropped = Literal[
    "repeat", "invalid token", "one-word filter", "beyond the limit", "separator", "no words"
]
"""Why a protocol does not count a predicted phrase."""

REASONS: dict[Dropped, str] = {
    "repeat": "it repeats an earlier phrase",
    "invalid token": "it contains an invalid token, such as <unk> or a single comma",
    "one-word filter": "the protocol keeps only the first phrase of one word",
    "beyond the limit": "it comes after the last phrase that the protocol reads",
    "separator": "it is a separator and not a phrase",
    "no words": "it has no words",
}
"""Each reason as a sentence for people."""


class JudgedPhrase(msgspec.Struct, frozen=True, gc=False):
    """One predicted phrase as a protocol reads it.

    `index` is the number of the predicted phrase it was read from, None where the protocol reads an
    empty prediction as one empty phrase. `stems` are joined by blanks. `correct` means that the
    phrase equals a gold phrase of its part, present or absent, whether the phrase counts or not.
    `dropped` is why the protocol does not count it, None if it does.
    """

    index: int | None
    stems: str
    present: bool
    correct: bool
    dropped: Dropped | None
    document: Document

    @property
    def places(self) -> tuple[Characters, ...]:
        """Where the phrase occurs in `Document.text`, as whole words; computed when asked for.

        Empty for an absent phrase, and for one that the protocol calls present although no run of
        whole words has its stems (kpdrop finds `net` in `network`).
        """
        if not self.present:
            return ()
        return tuple(Reading.of(self.document).occurrences(self.stems.split()))


class GoldPhrase(msgspec.Struct, frozen=True, gc=False):
    """One gold phrase as a protocol reads it.

    `index` is the number of the keyphrase it was read from, None where the protocol reads missing
    gold as one empty phrase. A prediction that equals any of the `names` is correct; all but
    chan19's `variants` have one name, which is `stems`. With several names a phrase may belong to
    both parts, and a separator belongs to neither.
    """

    index: int | None
    stems: str
    present: bool
    absent: bool
    names: tuple[str, ...]


class PartMatches:
    """The present, the absent or all phrases of one document, after a protocol's filters.

    Phrases are stems joined by blanks. `hits` are the ranks (from 0) of the predictions that equal
    a target. `produced` and `unique` count the predictions before any filter, with and without
    repeats.
    """

    __slots__ = ("hits", "predictions", "produced", "targets", "unique")

    def __init__(self) -> None:
        self.predictions: list[str] = []
        self.targets: list[str] = []
        self.hits: list[int] = []
        self.produced = 0
        self.unique = 0


class Matches:
    """One document under one protocol."""

    __slots__ = ("absent", "all", "present")

    def __init__(self, present: PartMatches, absent: PartMatches, everything: PartMatches) -> None:
        self.present = present
        self.absent = absent
        self.all = everything

    def part(self, name: Part) -> PartMatches:
        match name:
            case "present":
                return self.present
            case "absent":
                return self.absent
            case "all":
                return self.all


class WordedMatches(Matches):
    """Matches with the document and the words of its phrases, for measures of meaning.

    `predicted` and `gold` have the words of the phrases that count, by their stems; `produced` has
    the stems and words of all predictions, repeats and invalid ones included, by part.
    """

    __slots__ = ("document", "gold", "predicted", "produced")

    def __init__(self, matches: Matches, document: Document) -> None:
        super().__init__(matches.present, matches.absent, matches.all)
        self.document = document
        self.gold: dict[str, str] = {}
        self.predicted: dict[str, str] = {}
        self.produced: dict[Part, list[tuple[str, str]]] = {part: [] for part in PARTS}

    def add(self, phrase: JudgedPhrase, words: str) -> None:
        """Add the words of a predicted phrase."""
        for part in ("present" if phrase.present else "absent", "all"):
            self.produced[part].append((phrase.stems, words))
        if phrase.dropped is None:
            self.predicted.setdefault(phrase.stems, words)


class Judgement:
    """The gold and the predictions of one document as a protocol reads them, each in its order.

    A protocol adds all gold phrases first, because predictions are compared with them.
    """

    __slots__ = ("_absent", "_all", "_document", "_present", "gold", "phrases")

    def __init__(self, document: Document) -> None:
        self.gold: list[GoldPhrase] = []
        self.phrases: list[JudgedPhrase] = []
        self._document = document
        # The names that are right in each part.
        self._present: set[str] = set()
        self._absent: set[str] = set()
        self._all: set[str] = set()

    def add_gold(self, index: int | None, stems: str, present: bool) -> None:
        """Add a gold phrase that has one name and belongs to one part."""
        self.gold.append(GoldPhrase(index, stems, present, not present, (stems,)))
        (self._present if present else self._absent).add(stems)
        self._all.add(stems)

    def add_names(self, phrase: GoldPhrase) -> None:
        """Add a gold phrase that has several names, or that belongs to both parts or to none."""
        self.gold.append(phrase)
        if phrase.present:
            self._present.update(phrase.names)
        if phrase.absent:
            self._absent.update(phrase.names)
        self._all.update(phrase.names)

    def add(
        self, index: int | None, stems: str, present: bool, dropped: Dropped | None = None
    ) -> None:
        """Add a predicted phrase."""
        correct = stems in (self._present if present else self._absent)
        self.phrases.append(JudgedPhrase(index, stems, present, correct, dropped, self._document))

    def matches(self, not_produced: frozenset[Dropped]) -> Matches:
        """The phrases that count, by part.

        A phrase dropped for a reason in `not_produced` is not even counted as produced.
        """
        present, absent, everything = PartMatches(), PartMatches(), PartMatches()
        for gold in self.gold:
            everything.targets.append(gold.stems)
            if gold.present:
                present.targets.append(gold.stems)
            if gold.absent:
                absent.targets.append(gold.stems)
        for phrase in self.phrases:
            part = present if phrase.present else absent
            dropped = phrase.dropped
            if dropped is None or dropped not in not_produced:
                part.produced += 1
                part.unique += dropped != "repeat"
            if dropped is None:
                if phrase.correct:
                    part.hits.append(len(part.predictions))
                # Not `correct`: gold may be declared to belong to the other part.
                if phrase.stems in self._all:
                    everything.hits.append(len(everything.predictions))
                part.predictions.append(phrase.stems)
                everything.predictions.append(phrase.stems)
        everything.produced = present.produced + absent.produced
        everything.unique = present.unique + absent.unique
        return Matches(present, absent, everything)


@dataclass(frozen=True)
class ScoringRules:
    """How a protocol turns matches into numbers. Protocols with equal rules score alike."""

    # What P@k divides by: always k (`k`), k unless nothing was predicted (`k_if_any`; the macro
    # average is the same, but a document without predictions adds nothing to the micro sum), or
    # the number of predictions where that is smaller (`predicted`).
    divide_by: Literal["k", "k_if_any", "predicted"] = "k_if_any"
    # Corpus F1: the harmonic mean of macro P and macro R, or the mean of the documents' F1.
    f1: Literal["of_means", "mean_of_documents"] = "of_means"
    # The documents that scores are averaged over: all, or those with a target in the part.
    average_over: Literal["all", "with_targets"] = "all"
    # The perfect ranking that NDCG compares with: the hits first, or every target a hit.
    ideal: Literal["hits", "targets"] = "hits"
    # AlphaNDCG as in the chan19 or in the yuan20 release.
    alpha: Literal["substring", "token_sets"] = "substring"
    # Duplicate ratio of the whole corpus, or the mean over documents with predictions.
    duplicates: Literal["corpus", "documents"] = "corpus"
    # Run folder of the scorer that FB uses; empty where there is none.
    scorer: str = ""
    # The sentence encoder of the measures of meaning; empty where phrases have no words.
    encoder: str = ""
    # Whether an exact match counts as 1 in semantic recall, as it does in semantic precision.
    exact_recall: bool = True
    # The documents that retrieval measures search; empty where there are none.
    index: str = ""
