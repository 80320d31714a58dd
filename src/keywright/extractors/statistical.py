"""Phrases ranked by statistics of one document, in any of several languages.

For texts in languages that no model here was trained on. As in YAKE (Campos et al. 2020), a word
counts more if it is frequent, occurs early, in many sentences, and with a capital letter inside a
sentence. A phrase is as good as its words are on average, and better the more often it occurs by
itself, that is, not within a longer phrase.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import median

from keywright.config import Count
from keywright.errors import UnknownNameError
from keywright.text.candidates import Span, ngrams
from keywright.text.languages import ENGLISH, NAMES, other_language, stopwords
from keywright.text.reading import Reading, Stems
from keywright.types import Document, Prediction, ScoredPhrase

_ENDS_SENTENCE = frozenset(".!?…\n。！？")
# What may be between two words of a phrase, besides blanks.
_INSIDE = frozenset("-‐‑/­")
SHORTEST, LONGEST = 3, 40  # letters of a word that stands alone, and of any word
# Chosen on the French and Portuguese news of docs/languages.md.
FREQUENCY = 0.6  # exponent of the number of occurrences
WITHIN = 0.8  # share of the occurrences within a longer phrase that do not count
LEAST_ALONE = 0.3
STOP_INSIDE = 0.6  # factor for every stop word inside a phrase
SHARED = 0.6  # share of words from which on two phrases are too similar
# Endings of plurals and cases, longest first, that are cut off to count forms of a word together.
_ENDINGS = {
    "da": ("erne", "ene", "er", "en", "et", "e", "s"),
    "de": ("ern", "en", "er", "es", "em", "e", "n", "s"),
    "es": ("es", "s"),
    "fr": ("es", "s", "x", "e"),
    "it": ("i", "e", "a", "o"),
    "nl": ("en", "e", "s"),
    "pt": ("es", "s"),
    "sv": ("orna", "arna", "erna", "or", "ar", "er", "en", "et", "s"),
    ENGLISH: ("es", "s"),
}
_SHORTEST_STEM = 4


@dataclass(frozen=True)
class Config:
    language: str | None = None  # such as "de"; by default it is recognised for each document
    longest: Count = 3  # words
    max_phrases: Count = 20

    def __post_init__(self) -> None:
        if self.language is not None and self.language not in (ENGLISH, *NAMES):
            raise UnknownNameError("language", self.language, (ENGLISH, *NAMES))


@dataclass(frozen=True)
class _Word:
    """A word of a text: its stem, its place, and whether a capital letter says something."""

    text: str
    stem: str
    start: int
    end: int
    sentence: int
    capital: bool
    stop: bool


@dataclass(frozen=True)
class Statistical:
    config: Config

    @property
    def window(self) -> int:
        return 1

    def predict(self, documents: Iterable[Document]) -> Iterator[Prediction]:
        for document in documents:
            language = self.config.language or other_language(document.text) or ENGLISH
            yield self._predict(document, language)

    def _predict(self, document: Document, language: str) -> Prediction:
        text = document.text
        words, clauses = _read(document, language)
        weights = _weights(words)
        found: dict[Stems, list[Span]] = defaultdict(list)
        for clause in clauses:
            for start, end in ngrams(clause, self.config.longest):
                if _is_phrase(words[start:end]):
                    found[tuple(word.stem for word in words[start:end])].append((start, end))
        scores = _scores(found, weights)
        best = sorted(scores, key=lambda phrase: (-scores[phrase], found[phrase][0]))
        return Prediction(
            document_id=document.id,
            phrases=tuple(
                ScoredPhrase(
                    text=_surface(text, words, found[phrase]),
                    words=len(phrase),
                    score=scores[phrase],
                )
                for phrase in islice(_distinct(best), self.config.max_phrases)
            ),
        )


def build(config: Config) -> Statistical:
    return Statistical(config)


def _read(document: Document, language: str) -> tuple[list[_Word], list[Span]]:
    """The words of a document, and the runs of them that no punctuation interrupts."""
    reading = Reading.of(document)
    text, stop = reading.text, stopwords(language)
    words: list[_Word] = []
    clauses: list[Span] = []
    begin, before, sentence, fresh = 0, 0, 0, True
    for start, end in zip(reading.spans.starts, reading.spans.ends, strict=True):
        token, gap = text[start:end], text[before:start]
        is_word = any(map(str.isalnum, token))
        if not is_word or not all(mark.isspace() or mark in _INSIDE for mark in gap) or "\n" in gap:
            clauses.append((begin, len(words)))
            begin = len(words)
        ended = token in _ENDS_SENTENCE or not _ENDS_SENTENCE.isdisjoint(gap)
        if ended and not fresh:
            sentence, fresh = sentence + 1, True
        if is_word:
            lower = token.lower()
            capital = token[0].isupper() and not (fresh and token[1:].islower())
            words.append(
                _Word(token, _stem(lower, language), start, end, sentence, capital, lower in stop)
            )
            fresh = False
        before = end
    return words, [*clauses, (begin, len(words))]


def _stem(word: str, language: str) -> str:
    for ending in _ENDINGS.get(language, ()):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            return word.removesuffix(ending)
    return word


def _weights(words: Sequence[_Word]) -> dict[str, float]:
    """What each word is worth, by its stem."""
    places: dict[str, list[_Word]] = defaultdict(list)
    for word in words:
        if not word.stop:
            places[word.stem].append(word)
    if not places:
        return {}
    counts = [len(found) for found in places.values()]
    mean = sum(counts) / len(counts)
    sentences = 1 + max(word.sentence for word in words)
    return {
        stem: (
            len(found) / mean
            + sum(word.capital for word in found) / (1 + math.log(len(found)))
            + len({word.sentence for word in found}) / sentences
        )
        / math.log(math.log(3 + median(word.sentence for word in found)) + 1.5)
        for stem, found in places.items()
    }


def _is_phrase(words: Sequence[_Word]) -> bool:
    if words[0].stop or words[-1].stop:
        return False
    if not all(any(map(str.isalpha, word.text)) for word in (words[0], words[-1])):
        return False
    if any(len(word.text) > LONGEST for word in words):
        return False  # a clause in a script without blanks
    return len(words) > 1 or len(words[0].text) >= SHORTEST


def _scores(found: dict[Stems, list[Span]], weights: dict[str, float]) -> dict[Stems, float]:
    longer: Counter[Stems] = Counter()
    for phrase, places in found.items():
        ends = {phrase[1:], phrase[:-1]}
        if len(places) > 1:
            ends = {_trimmed(part, weights) for part in ends}
        for part in ends:
            longer[part] = max(longer[part], len(places))
    scores = {}
    for phrase, places in found.items():
        alone = max(len(places) - WITHIN * longer[phrase], LEAST_ALONE)
        known = [weights[stem] for stem in phrase if stem in weights]
        stops = len(phrase) - len(known)
        scores[phrase] = sum(known) / len(known) * alone**FREQUENCY
        # "aceite de oliva" is one thing if it is written twice, "lancement pour la" is chance.
        if len(places) == 1:
            scores[phrase] *= STOP_INSIDE**stops
    return scores


def _trimmed(phrase: Stems, weights: Mapping[str, float]) -> Stems:
    """A phrase without stop words, which have no weight, at its ends."""
    first, last = 0, len(phrase)
    while first < last and phrase[first] not in weights:
        first += 1
    while first < last and phrase[last - 1] not in weights:
        last -= 1
    return phrase[first:last]


def _distinct(best_first: Iterable[Stems]) -> Iterator[Stems]:
    """Phrases without those that share most of their words with a better one; words stay."""
    kept: list[frozenset[str]] = []
    for phrase in best_first:
        own = frozenset(phrase)
        if len(phrase) > 1:
            if any(len(own & other) >= SHARED * min(len(own), len(other)) for other in kept):
                continue
            kept.append(own)
        yield phrase


def _surface(text: str, words: Sequence[_Word], places: Sequence[Span]) -> str:
    """The most frequent spelling, the first one on ties."""
    spellings = Counter(
        " ".join(text[words[start].start : words[end - 1].end].split()) for start, end in places
    )
    return max(spellings, key=lambda spelling: spellings[spelling])
