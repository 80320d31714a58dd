"""Keyphrases for readers: written as in the text, with their places, without near-repeats."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec
import numpy as np

from keywright.calibration import perplexity
from keywright.generation import sections
from keywright.generation.sentences import Sentence, sentences
from keywright.predictor import Direction
from keywright.text.reading import Characters, Reading, Stems, literal_stems
from keywright.types import Document, Prediction, ScoredPhrase

# Words of a phrase. A model may copy an endless word of a hostile text, and near-repeats are found
# by all runs of a phrase's words.
LONGEST = 50
# The share of a phrase's probability from which on a longer one that contains it is preferred.
NEARLY = 0.5
NEARLY_PART = 0.2  # the same if the shorter one is a word that occurs only in the longer one
LEAST = 1e-9  # probability: none is divided by zero
# The least cosine of a phrase and a sentence that is shown as evidence for it.
LEAST_SIMILARITY = 0.3
# Marks that models know and readers do not.
_MARK = re.compile(r"<\w+>")
# Blanks that tokenising put around marks: "alzheimer ' s disease", "internet of things ( iot )".
_SPLIT_OFF = re.compile(r" (?=[')%.,])|(?<=\() |(?<= ') (?=s\b)")
# What separates words although tokenising drops it: "superb: stainless steel".
_BREAK = re.compile(r'[:;!?…]\s|\s[-–—]\s|\s[–—]|[–—]\s|\n\s*\n|[|\[\]{}"“”=\t]|\n\s*[-*•>#]\s')
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class Keyphrase(msgspec.Struct, frozen=True, kw_only=True):
    """A keyphrase of a document.

    `probability` is the probability that it is right (None if the model gives none). `places` are
    the characters [start, end) of `Document.text` at which a present phrase occurs; `evidence` is
    the sentence most related to an absent one.

    `recommended` is False for phrases beyond the number that suits the document; `stated` phrases
    are keywords that the document itself lists.

    With a vocabulary, `text` is the preferred name of a term, `id` the term's identifier and
    `written` the phrase as the text or the model has it; `new` phrases match no term.
    """

    text: str
    probability: float | None
    present: bool
    places: tuple[tuple[int, int], ...] = ()
    evidence: str | None = None
    id: str | None = None
    written: str | None = None
    new: bool = False
    recommended: bool = True
    stated: bool = False

    def __str__(self) -> str:
        return self.text


def tidy(text: str) -> str:
    """The text in one line that is safe to print."""
    return " ".join(_CONTROL.sub(" ", text).split())


class SearchedText:
    """A document's text, in which phrases and the sentences related to them are found.

    `direction` says what words mean; without it sentences are related by the words they share.
    """

    def __init__(self, document: Document, direction: Direction | None = None) -> None:
        self._reading = Reading.of(document)
        self._direction = direction
        self._places: dict[Stems, list[Characters]] = {}
        self.text = self._reading.text

    @cached_property
    def cased(self) -> bool:
        """Whether capitals carry information: prepared texts have none."""
        return self.text != self.text.lower()

    def places(self, phrase: Stems) -> list[Characters]:
        """Where a phrase occurs; see `Reading.places`."""
        found = self._places.get(phrase)
        if found is None:
            found = self._places[phrase] = self._reading.places(phrase)
        return found

    def surface(self, places: Sequence[Characters]) -> str:
        """The most frequent spelling at these places, the first one on ties, in one line."""
        spellings = Counter(tidy(self.text[start:end]) for start, end in places)
        best = max(spellings.values())
        return next(text for text, count in spellings.items() if count == best)

    def is_broken(self, phrase: Stems) -> bool:
        """Whether a phrase occurs only across a colon, a bracket or the end of a paragraph."""
        places = self.places(phrase) if len(phrase) > 1 else []
        return bool(places) and all(_BREAK.search(self.text[start:end]) for start, end in places)

    def stated(self, probability: float | None) -> dict[Stems, Keyphrase]:
        """The keywords that the text lists as such, by their literal stems."""
        found: dict[Stems, Keyphrase] = {}
        for start, end in sections.stated(self.text):
            written = tidy(self.text[start:end])
            stems = literal_stems(written)
            places = tuple(self.places(stems))
            if places:
                found.setdefault(
                    stems,
                    Keyphrase(
                        text=written,
                        probability=probability,
                        present=True,
                        places=places,
                        stated=True,
                    ),
                )
        return found

    @cached_property
    def _sentences(self) -> list[Sentence]:
        # A title is a sentence of its own, even without a full stop.
        end = self._reading.title_end
        body = [
            Sentence(text, start + end, stop + end)
            for text, start, stop in sentences(self.text[end:])
        ]
        return [*sentences(self.text[:end]), *body]

    @cached_property
    def _sentences_with(self) -> dict[str, list[int]]:
        """For every stem the sentences that contain it."""
        found: dict[str, list[int]] = defaultdict(list)
        for number, stems in enumerate(self._sentence_stems):
            for stem in stems:
                found[stem].append(number)
        return found

    @cached_property
    def _sentence_stems(self) -> list[set[str]]:
        stems, spans = self._reading.literal.stems, self._reading.literal_spans
        places = (spans.between(sentence.start, sentence.end) for sentence in self._sentences)
        return [set(stems[words.start : words.stop]) for words in places]

    def most_related(self, phrase: Stems) -> str | None:
        """The sentence closest to a phrase in meaning, or the one that shares most words with it.

        None if there is no such sentence: evidence that is not about the phrase would mislead.
        """
        found = (
            self._shares_most(phrase) if self._meaning is None else self._meaning.closest(phrase)
        )
        return None if found is None else tidy(self._sentences[found].text)

    @cached_property
    def _meaning(self) -> _Sentences | None:
        if self._direction is None:
            return None
        return _Sentences(self._direction, self._sentence_stems)

    def _shares_most(self, phrase: Stems) -> int | None:
        """The sentence that shares most with a phrase, where rare words count more."""
        scores: dict[int, float] = defaultdict(float)
        for word in set(phrase):
            having = self._sentences_with.get(word, [])
            for number in having:
                scores[number] += 1 / len(having)
        return max(scores, key=lambda number: (scores[number], -number), default=None)


class _Sentences:
    """What the sentences of a text mean."""

    def __init__(self, direction: Direction, sentences: Sequence[set[str]]):
        self._direction = direction
        self._matrix = np.stack([direction(sorted(stems)) for stems in sentences])  # [N, D]

    def closest(self, phrase: Stems) -> int | None:
        similarities = self._matrix @ self._direction(phrase)
        best = int(similarities.argmax())
        return best if similarities[best] >= LEAST_SIMILARITY else None


Choice = Callable[[Sequence[Keyphrase]], list[Keyphrase]]
"""Selects some of a document's keyphrases, best first."""


class RankedPhrase(NamedTuple):
    """A predicted phrase; `rank` is its place in the prediction."""

    stems: Stems
    phrase: ScoredPhrase
    rank: int
    probability: float | None


def keyphrases(
    document: Document,
    prediction: Prediction,
    choose: Choice = list,
    *,
    direction: Direction | None = None,
) -> list[Keyphrase]:
    """A prediction's phrases without near-repeats, best first; before them the stated ones.

    Evidence is only looked for once `choose` has selected some of them, because that takes time.
    """
    text = SearchedText(document, direction)
    ranked = [phrase for phrase in rank(prediction) if not text.is_broken(phrase.stems)]
    calibrated = any(phrase.probability is not None for phrase in ranked)
    stated = text.stated(probability=1.0 if calibrated else None)
    others = (phrase for phrase in ranked if phrase.stems not in stated)
    merged = merge(others, lambda phrase: len(text.places(phrase)))
    stems: dict[Keyphrase, Stems] = {}
    for phrase in merged:
        spelled = spell(text, phrase)
        if spelled is not None:
            stems[spelled] = phrase.stems
    chosen = choose([*stated.values(), *stems])
    return [
        phrase if phrase.present else with_evidence(text, phrase, stems[phrase])
        for phrase in chosen
    ]


def spell(text: SearchedText, ranked: RankedPhrase) -> Keyphrase | None:
    """A phrase as the text has it, without evidence; None if its spelling is unknown."""
    places = tuple(text.places(ranked.stems))
    if not places and _MARK.search(ranked.phrase.text):
        return None  # "windows <digit>": only the text could tell the number
    return Keyphrase(
        text=text.surface(places) if places else _SPLIT_OFF.sub("", tidy(ranked.phrase.text)),
        probability=ranked.probability,
        present=bool(places),
        places=places,
        recommended=ranked.phrase.recommended,
    )


def with_evidence(text: SearchedText, phrase: Keyphrase, stems: Stems) -> Keyphrase:
    return msgspec.structs.replace(phrase, evidence=text.most_related(stems))


def rank(prediction: Prediction) -> list[RankedPhrase]:
    """The phrases that have words, and not too many for a phrase, best first."""
    # If some phrases have calibrated probabilities, others must not be mixed with them.
    calibrated = any(phrase.confidence is not None for phrase in prediction.phrases)
    found = []
    for number, phrase in enumerate(prediction.phrases):
        stems = literal_stems(phrase.text)
        if len(stems) <= LONGEST and any(any(map(str.isalnum, word)) for word in stems):
            probability = phrase.confidence if calibrated else perplexity.confidence(phrase)
            found.append(RankedPhrase(stems, phrase, number, probability))
    return sorted(
        found,
        key=lambda phrase: (-(phrase.probability or 0.0), phrase.rank),
    )


def merge(
    ranked: Iterable[RankedPhrase], count: Callable[[Stems], int] | None = None
) -> list[RankedPhrase]:
    """Drop phrases that nearly repeat a more probable one.

    Near-repeats are other inflections, another word order, and phrases of which one contains the
    other ("network", "neural network"). Of those the longer one is kept if it is nearly as
    probable, because it is more specific; it is recommended if the shorter one was.
    `count` says how often a phrase occurs: a word that occurs only inside the longer phrase gives
    way sooner ("night", "night trains").
    """
    kept: dict[Stems, RankedPhrase] = {}
    inside: set[Stems] = set()  # the kept phrases and all runs of their words
    sorted_words: set[Stems] = set()
    for phrase in ranked:
        if phrase.stems in inside or tuple(sorted(phrase.stems)) in sorted_words:
            continue
        runs = set(_runs_of(phrase.stems))
        shorter = [kept[run] for run in runs if run in kept]
        if not all(_is_preferred(phrase, other, count) for other in shorter):
            continue
        for other in shorter:
            del kept[other.stems]
        if any(other.phrase.recommended for other in shorter):
            same = msgspec.structs.replace(phrase.phrase, recommended=True)
            phrase = phrase._replace(phrase=same)
        kept[phrase.stems] = phrase
        inside |= runs
        sorted_words.add(tuple(sorted(phrase.stems)))
    return list(kept.values())


def _is_preferred(
    longer: RankedPhrase, shorter: RankedPhrase, count: Callable[[Stems], int] | None
) -> bool:
    if longer.probability is None or shorter.probability is None:
        return False
    share = longer.probability / max(shorter.probability, LEAST)
    if share >= NEARLY or share < NEARLY_PART or count is None or len(shorter.stems) > 1:
        return share >= NEARLY
    return 0 < count(shorter.stems) == count(longer.stems)


def _runs_of(stems: Stems) -> Iterator[Stems]:
    for start in range(len(stems)):
        for end in range(start + 1, len(stems) + 1):
            yield stems[start:end]
