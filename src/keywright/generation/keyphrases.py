"""Keyphrases for readers: written as in the text, with their places, without near-repeats."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec

from keywright.calibration import perplexity
from keywright.generation.sentences import sentences
from keywright.text.stem import stem
from keywright.text.tokenise import DIGIT, plain, spans
from keywright.types import Document, Prediction, ScoredPhrase

Stems = tuple[str, ...]
# Words of a phrase. A model may copy an endless word of a hostile text, and near-repeats are found
# by all runs of a phrase's words.
LONGEST = 50
# Marks that models know and readers do not.
_MARK = re.compile(r"<\w+>")
# Blanks that tokenising put around marks: "alzheimer ' s disease", "internet of things ( iot )".
_SPLIT_OFF = re.compile(r" (?=[')%.,])|(?<=\() |(?<= ') (?=s\b)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class Keyphrase(msgspec.Struct, frozen=True, kw_only=True):
    """A keyphrase of a document.

    `probability` is the chance that it is right (None where a model gives none). `places` are the
    characters [start, end) of `Document.text` where a present phrase stands; `evidence` is the
    sentence most related to an absent one.

    Where a vocabulary was asked for, `text` is its term's preferred name, `id` the term's
    identifier and `written` the phrase as the text or the model has it; `new` phrases mean no term.
    """

    text: str
    probability: float | None
    present: bool
    places: tuple[tuple[int, int], ...] = ()
    evidence: str | None = None
    id: str | None = None
    written: str | None = None
    new: bool = False


def literal_stems(text: str) -> Stems:
    """The stems of a text's words. Numbers stay what they are: type 1 is not type 2."""
    return tuple(_literal_stem(span.text) for span in spans(text))


def _literal_stem(word: str) -> str:
    return stem(plain(word).lower())


def tidy(text: str) -> str:
    """A text in one line that is safe to print."""
    return " ".join(_CONTROL.sub(" ", text).split())


class Text:
    """A document's text, searched for phrases."""

    def __init__(self, document: Document) -> None:
        self.text = document.text
        self._title_end = len(document.title)
        self._spans = spans(self.text)
        self._stems = [_literal_stem(span.text) for span in self._spans]
        self._positions: dict[str, list[int]] = defaultdict(list)
        for at, word in enumerate(self._stems):
            self._positions[word].append(at)
            if word.isdecimal():  # a model that knows no numbers writes <digit> for any
                self._positions[DIGIT].append(at)

    @cached_property
    def cased(self) -> bool:
        """Whether capitals say something: prepared texts have none."""
        return self.text != self.text.lower()

    def places(self, phrase: Stems) -> list[tuple[int, int]]:
        """Where a phrase stands, as characters [start, end), never across the title's end.

        If `<digit>` stands for several numbers, these are the places of the commonest one.
        """
        found: dict[Stems, list[tuple[int, int]]] = {}
        for at in self._runs(phrase):
            start, end = self._spans[at].start, self._spans[at + len(phrase) - 1].end
            if not start < self._title_end < end:
                spelled = tuple(self._stems[at : at + len(phrase)])
                found.setdefault(spelled, []).append((start, end))
        return max(found.values(), key=len, default=[])

    def _runs(self, phrase: Stems) -> Iterator[int]:
        """Tokens at which a phrase begins, by way of its rarest word."""
        if not phrase:
            return
        positions = [self._positions.get(word, []) for word in phrase]
        rarest = min(range(len(phrase)), key=lambda i: len(positions[i]))
        for at in positions[rarest]:
            first = at - rarest
            here = self._stems[max(first, 0) : first + len(phrase)]
            if len(here) == len(phrase) and all(map(_stands_for, phrase, here)):
                yield first

    def surface(self, places: Sequence[tuple[int, int]]) -> str:
        """The commonest spelling at these places, the first one on ties, in one line."""
        spellings = Counter(tidy(self.text[start:end]) for start, end in places)
        best = max(spellings.values())
        return next(text for text, count in spellings.items() if count == best)

    @cached_property
    def _sentences(self) -> list[str]:
        # A title is a sentence of its own, though no full stop ends it.
        parts = self.text[: self._title_end], self.text[self._title_end :]
        return [sentence.text for part in parts for sentence in sentences(part)]

    @cached_property
    def _sentences_with(self) -> dict[str, list[int]]:
        """For every stem the sentences that have it."""
        found: dict[str, list[int]] = defaultdict(list)
        for number, sentence in enumerate(self._sentences):
            for word in set(literal_stems(sentence)):
                found[word].append(number)
        return found

    def most_related(self, phrase: Stems) -> str | None:
        """The sentence that shares most with a phrase, rare words counting more."""
        scores: dict[int, float] = defaultdict(float)
        for word in set(phrase):
            having = self._sentences_with.get(word, [])
            for number in having:
                scores[number] += 1 / len(having)
        if not scores:
            return None
        best = max(scores, key=lambda number: (scores[number], -number))
        return tidy(self._sentences[best])


def _stands_for(word: str, other: str) -> bool:
    return word == other or (word == DIGIT and other.isdecimal())


class Candidate(NamedTuple):
    stems: Stems
    phrase: ScoredPhrase
    rank: int
    probability: float | None


def keyphrases(document: Document, prediction: Prediction) -> list[Keyphrase]:
    """A prediction's phrases without near-repeats, best first."""
    text = Text(document)
    made = (spelled(text, candidate) for candidate in merge(candidates(prediction)))
    return [one for one in made if one is not None]


def spelled(text: Text, candidate: Candidate) -> Keyphrase | None:
    """A candidate as the text has it; None where nothing says how it is written."""
    places = tuple(text.places(candidate.stems))
    if not places and _MARK.search(candidate.phrase.text):
        return None  # "windows <digit>": only the text could say which
    return Keyphrase(
        text=text.surface(places) if places else _SPLIT_OFF.sub("", tidy(candidate.phrase.text)),
        probability=candidate.probability,
        present=bool(places),
        places=places,
        evidence=None if places else text.most_related(candidate.stems),
    )


def candidates(prediction: Prediction) -> list[Candidate]:
    """The phrases that have words, and not too many for a phrase, best first."""
    # Where some phrases have a calibrated probability, one that is not must not stand beside it.
    calibrated = any(phrase.confidence is not None for phrase in prediction.phrases)
    found = []
    for rank, phrase in enumerate(prediction.phrases):
        stems = literal_stems(phrase.text)
        if len(stems) <= LONGEST and any(any(map(str.isalnum, word)) for word in stems):
            probability = phrase.confidence if calibrated else perplexity.confidence(phrase)
            found.append(Candidate(stems, phrase, rank, probability))
    return sorted(
        found,
        key=lambda one: (-(one.probability if one.probability is not None else 0.0), one.rank),
    )


def merge(ranked: Iterable[Candidate]) -> list[Candidate]:
    """Drop near-repeats, keeping the better: other inflections or word order, and of two phrases
    of which one contains the other ("network", "neural network") the less probable."""
    kept: list[Candidate] = []
    whole: set[Stems] = set()  # the kept phrases
    inside: set[Stems] = set()  # and all runs of their words
    sorted_words: set[Stems] = set()
    for one in ranked:
        runs = set(_runs_of(one.stems))
        if (
            one.stems in inside
            or not whole.isdisjoint(runs)
            or tuple(sorted(one.stems)) in sorted_words
        ):
            continue
        kept.append(one)
        whole.add(one.stems)
        inside |= runs
        sorted_words.add(tuple(sorted(one.stems)))
    return kept


def _runs_of(stems: Stems) -> Iterator[Stems]:
    for start in range(len(stems)):
        for end in range(start + 1, len(stems) + 1):
            yield stems[start:end]
