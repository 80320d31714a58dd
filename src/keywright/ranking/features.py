"""Features of candidates, as a matrix for boosted trees.

A fitted ranker stores the names of the columns that its trees read, in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from keywright.ranking.blocks import Block, Column, Matrix, parts
from keywright.ranking.candidates import Occurrences, RankerView, Runs
from keywright.ranking.keys import word_keys
from keywright.ranking.known import NOT_A_LABEL, Context, Known, Over, Words, Written
from keywright.ranking.meaning import Meaning, Meanings
from keywright.ranking.phrasebook import WORD_COLUMNS, WORD_DOCUMENTS, Phrasebook
from keywright.ranking.span_tagger import LogOdds
from keywright.ranking.structure import Structure
from keywright.ranking.topics import Topics
from keywright.text.reading import Stems

MOST_ABSENT = 40  # candidates that do not occur in the text
# How much more a document must resemble another genre than those of the start, in mean log-ratios.
MARGIN = 0.2
LONGEST_TITLE = 30  # words

Part = Literal["present", "absent"]
Spellings = Mapping[Stems, str]
"""Phrases, and how they are written."""


@dataclass(frozen=True)
class CandidateFeatures:
    """Phrases of one document with their features."""

    phrases: list[Stems]
    texts: list[str]
    features: Block
    genre: int  # the book that the document resembles most
    log_odds: Column | None = None  # [C] of the start's trees, for a document that they suffice for

    @property
    def columns(self) -> dict[str, Column]:
        return dict(zip(self.features.names, self.features.values.T, strict=True))

    def matrix(self, names: Sequence[str]) -> Matrix:
        """The named features [C, F]."""
        return self.features.matrix(names)


@dataclass(frozen=True)
class SecondTrees:
    trees: Callable[[Matrix], Column]
    names: Sequence[str]


@dataclass(frozen=True)
class Start:
    """The trees of the ranker that a fit started from, whose books are the first of the phrasebook.

    Documents that resemble its books most are judged by its trees alone: they were fitted on many
    more documents of these genres. For other documents their log-odds are a feature.
    """

    books: int
    trees: Mapping[Part, Callable[[Matrix], Column]]  # features [C, F] -> log-odds [C]
    names: Mapping[Part, Sequence[str]]  # of the features that they read
    # More trees for present candidates of documents that are judged by the start alone.
    second: SecondTrees | None = None

    @cached_property
    def read(self) -> dict[Part, frozenset[str]]:
        """The features that are needed for a document that is judged by the start alone."""
        more = () if self.second is None else self.second.names
        return {
            "present": frozenset((*self.names["present"], *more)),
            "absent": frozenset(self.names["absent"]),
        }

    def home_log_odds(self, part: Part, known: Block) -> Column:
        """The log-odds of candidates of documents that are judged by the start alone [C].

        Those of both forests are averaged: they were fitted with different features, and their
        mistakes differ.
        """
        first = self.trees[part](known.matrix(self.names[part]))
        if self.second is None or part != "present":
            return first
        return (first + self.second.trees(known.matrix(self.second.names))) / 2


@dataclass(frozen=True)
class Knowledge:
    """Everything besides the document that features are computed from."""

    book: Phrasebook
    topics: Topics
    span_tagger: Callable[[RankerView], LogOdds]
    meaning: Meaning
    start: Start | None = None

    @cached_property
    def known(self) -> Known:
        return Known(self.book, self.topics)

    def is_home(self, genres: NDArray[np.float64]) -> bool:
        """Whether a document with these resemblances [books] is left to the trees of the start."""
        if self.start is None:
            return False
        others = genres[self.start.books :]
        return bool(others.max(initial=-np.inf) < genres[: self.start.books].max() + MARGIN)

    def is_typical(self, genres: NDArray[np.float64]) -> bool:
        """Whether a document with these resemblances [books] is one of the start's genres."""
        if self.start is None:
            return True
        others = genres[self.start.books :]
        return bool(others.max(initial=-np.inf) < genres[: self.start.books].max())

    def at_home(self, view: RankerView) -> bool:
        rows = self.book.words.look_up(view.keys)
        return self.is_home(self.book.genres(rows[:, WORD_DOCUMENTS::WORD_COLUMNS]))


class Judged:
    """The candidates of one document, with features computed from what is known."""

    def __init__(
        self, context: Context, words: Words, knowledge: Knowledge, at_home: bool | None = None
    ):
        self.context, self.knowledge = context, knowledge
        self.view, self.topic = context.view, context.topic
        self.words = words  # of the document
        self.genres = knowledge.book.genres(words.documents)
        # Whether the document resembles the books of the start most.
        self.at_home = knowledge.is_home(self.genres) if at_home is None else at_home
        # Whether none of the other books resembles it more, without the margin.
        self.is_typical = knowledge.is_typical(self.genres)
        # Whether it is a record like those that the start learnt from: with a title, or only one.
        titled = self.view.title > 0 or len(self.view.words) <= LONGEST_TITLE
        self.is_record = titled and self.is_typical

    @classmethod
    def of(
        cls, view: RankerView, knowledge: Knowledge, written: Written, at_home: bool | None = None
    ) -> Judged:
        return cls.all([view], knowledge, [written], at_home)[0]

    @classmethod
    def all(
        cls,
        views: Sequence[RankerView],
        knowledge: Knowledge,
        written: Sequence[Written],
        at_home: bool | None = None,
    ) -> list[Judged]:
        """Several documents, in less time than one after another."""
        if not views:
            return []
        topics = knowledge.topics.of([view.terms for view in views])
        contexts = [Context(*each) for each in zip(views, topics, written, strict=True)]
        stems = np.concatenate([view.keys for view in views])
        words = knowledge.known.words(contexts, [view.number for view in views], stems)
        pairs = zip(contexts, words, strict=True)
        return [cls(*pair, knowledge, at_home) for pair in pairs]

    @cached_property
    def _structure(self) -> Structure:
        return Structure(self.view)

    @cached_property
    def _meanings(self) -> Meanings:
        return Meanings(self.knowledge.meaning, self.view)

    @property
    def genre(self) -> int:
        """The book that the document resembles most, of those that its trees know."""
        start = self.knowledge.start
        known = start.books if start is not None and self.at_home else None
        return int(np.argmax(self.genres[:known]))

    def present(self, most: int | None = None) -> CandidateFeatures:
        """Runs of words: all of them, or the `most` that look most like keyphrases."""
        return all_present([self], [most])[0]

    def absent(self) -> CandidateFeatures:
        """Phrases that the generator predicted and probable labels, if the text lacks them."""
        return all_absent([self])[0]

    def as_absent(self, texts: Spellings) -> CandidateFeatures:
        """Some phrases with their spellings, described as if the text lacked them."""
        return all_as_absent([self], [texts])[0]

    def present_draft(self, most: int | None) -> Draft:
        runs = self.view.runs
        compared = Block.of(self._contained(runs) | self._tagged(runs))
        chosen = np.arange(len(runs))
        if most is not None and most < len(runs):
            chosen = np.sort(np.argsort(-self._likely(compared, runs.at), kind="stable")[:most])
        phrases, texts = self.view.phrases(chosen), self.view.texts(chosen)
        counted = Block.of(self._counted(runs.at, chosen, texts))
        return Draft(
            self,
            phrases,
            self.view.spelled(chosen, texts),
            self.words,
            Block.joined(counted, compared.rows(chosen)),
            partial(self._more_of_present, phrases, chosen),
        )

    def absent_draft(self, texts: Spellings, words: Words) -> Draft:
        phrases = list(texts)
        more = partial(self._more_of_absent, phrases)
        own = Block((), np.empty((len(phrases), 0), np.float32))
        return Draft(self, phrases, list(texts.values()), words, own, more)

    def absent_texts(self) -> Spellings:
        """The absent candidates."""
        view, topics = self.view, self.knowledge.topics
        texts = {
            phrase: generated.text
            for phrase, generated in self.context.written.items()
            if not view.has(phrase)
        }
        for label in self.topic.best(2 * MOST_ABSENT).tolist():
            phrase = topics.label_stems[label]
            if not view.has(phrase):
                texts.setdefault(phrase, topics.labels[label])
            if len(texts) >= MOST_ABSENT:
                break
        return texts

    def _more_of_present(self, phrases: Sequence[Stems], chosen: NDArray[np.int64]) -> Block:
        at = self.view.runs.at.of(chosen)
        return Block.of(self._placed(phrases, at) | self._related(phrases))

    def _more_of_absent(self, phrases: Sequence[Stems]) -> Block:
        return Block.of(self._related(phrases) | self._meanings.nearest(phrases))

    def _likely(self, compared: Block, at: Occurrences) -> Column:
        """How much each candidate looks like a keyphrase.

        The span tagger learnt from the books of the start; in other documents it overlooks names
        and frequent phrases.
        """
        tagged = compared.column("tagged.most")
        if self.at_home:
            return tagged
        return tagged + np.log(at.counts) + self._structure.capital(at)

    @cached_property
    def document(self) -> Block:
        """Features that all candidates of the document share: [1, F]."""
        view = self.view
        best = self.topic.log_probs.max(initial=NOT_A_LABEL)
        values = {
            "document.words": len(view.words),
            "document.candidates": len(view.runs),
            "document.written": len(self.context.written),
            "document.best_topic": best,
            "document.title": view.title,
        }
        values |= {f"document.book{i}": value for i, value in enumerate(self._rarity())}
        values |= {f"document.genre{i}": value for i, value in enumerate(self.genres)}
        return Block(tuple(values), np.array([list(values.values())], np.float32))

    def _rarity(self) -> list[float]:
        """How much more frequent words are in each book than in all: in those of the start only."""
        every, start = self.knowledge.book.sizes, self.knowledge.start
        sizes = np.array(every if start is None else every[: start.books], dtype=np.float32)
        rates = (self.words.documents[:, : len(sizes)] + 1) / (sizes + 1)
        if not len(rates):
            return [0.0] * len(sizes)
        shares = np.log(rates / rates.mean(axis=1, keepdims=True))
        return [float(share) for share in shares.mean(axis=0)]

    def _counted(
        self, at: Occurrences, chosen: NDArray[np.int64], texts: Sequence[str]
    ) -> dict[str, Column]:
        numbers = at.counts[chosen], at.first[chosen], at.last[chosen]
        count, first, last = np.array(numbers, np.float32)
        title, size = self.view.title, max(1, len(self.view.words))
        return {
            "count": count,
            "count.share": count / size,
            "first": first,
            "first.share": first / size,
            "spread": (last - first) / size,
            "in_title": (first < title).astype(np.float32),
            "after_title": (first - title) / size,
            "letters": np.array([len(text) for text in texts], np.float32),
        }

    def _contained(self, runs: Runs) -> dict[str, Column]:
        """The share of a phrase's occurrences within a longer candidate, and that of its parts."""
        counts = runs.at.counts.astype(np.float32)
        longer, shorter = runs.neighbours(counts, 0)
        return {"within": longer / counts, "parts": counts / np.maximum(shorter, 1)}

    def _placed(self, phrases: Sequence[Stems], at: Occurrences) -> dict[str, Column]:
        """Where a phrase and its words are in the text, and what is around them."""
        over = Over([phrases], [self.view.number])
        central, before, after = self._structure.words.T
        least, most, mean = over(central[None])[0]
        return {
            **self._structure.columns(at),
            "central.least": least,
            "central.most": most,
            "central.mean": mean,
            "central.sum": mean * over.lengths,
            "varied.before": before[over.first],
            "varied.after": after[over.last],
        }

    def _related(self, phrases: Sequence[Stems]) -> dict[str, Column]:
        """How close phrases are to the document in meaning, and whether it has capitals at all."""
        cased = np.full(len(phrases), self._structure.cased, np.float32)
        return {"document.cased": cased, **self._meanings.columns(phrases)}

    def _tagged(self, runs: Runs) -> dict[str, Column]:
        """The span tagger's log-odds at the places where a phrase occurs."""
        at, size = runs.at, len(runs)
        odds = self.knowledge.span_tagger(self.view)[at.starts, at.ends - at.starts - 1]
        most = np.maximum.reduceat(odds, at.begin) if size else odds
        better = np.empty(size, np.float32)
        better[np.argsort(-most, kind="stable")] = np.arange(size)
        longer, shorter = runs.neighbours(most, NOT_A_LABEL)
        return {
            "tagged.most": most,
            "tagged.mean": at.mean(odds),
            "tagged.first": odds[at.begin],
            "tagged.rank": np.log1p(better),
            "tagged.behind": most - most.max(initial=NOT_A_LABEL),
            "tagged.all": np.full(size, np.log1p(np.exp(most)).sum()),
            "tagged.longer": most - longer,
            "tagged.shorter": most - shorter,
        }


@dataclass(frozen=True)
class Draft:
    """Phrases of one document that are not yet looked up."""

    judged: Judged
    phrases: list[Stems]
    texts: list[str]
    words: Words  # of all these phrases
    own: Block  # features that the document alone determines
    more: Callable[[], Block]  # features that take long to compute, and not all trees read


def all_present(every: Sequence[Judged], most: Sequence[int | None]) -> list[CandidateFeatures]:
    """`Judged.present` of several documents."""
    return _described(
        "present", [judged.present_draft(each) for judged, each in zip(every, most, strict=True)]
    )


def all_absent(every: Sequence[Judged]) -> list[CandidateFeatures]:
    """`Judged.absent` of several documents."""
    return all_as_absent(every, [judged.absent_texts() for judged in every])


def all_as_absent(every: Sequence[Judged], texts: Sequence[Spellings]) -> list[CandidateFeatures]:
    """`Judged.as_absent` of several documents."""
    if not every:
        return []
    numbers = [_numbered(chain.from_iterable(each)) for each in texts]
    stems = word_keys(chain.from_iterable(numbers))
    known = every[0].knowledge.known
    words = known.words([judged.context for judged in every], numbers, stems)
    drafts = [
        judged.absent_draft(spellings, known_words)
        for judged, spellings, known_words in zip(every, texts, words, strict=True)
    ]
    return _described("absent", drafts)


def _numbered(stems: Iterable[str]) -> dict[str, int]:
    return {stem: number for number, stem in enumerate(dict.fromkeys(stems))}


def _described(part: Part, drafts: Sequence[Draft]) -> list[CandidateFeatures]:
    """Documents that the same trees judge are described together."""
    found: dict[int, CandidateFeatures] = {}
    for at_home in (True, False):
        group = [at for at, draft in enumerate(drafts) if draft.judged.at_home is at_home]
        if group:
            features = _alike(part, [drafts[at] for at in group], at_home)
            found.update(zip(group, features, strict=True))
    return [found[at] for at in range(len(drafts))]


def _alike(part: Part, drafts: Sequence[Draft], at_home: bool) -> list[CandidateFeatures]:
    knowledge = drafts[0].judged.knowledge
    start, log_odds = knowledge.start, None
    features = _cheap(knowledge.known, drafts)
    if start is None or not at_home or not start.read[part].issubset(features.names):
        features = Block.joined(features, Block.stacked([draft.more() for draft in drafts]))
    if start is not None and at_home:
        log_odds = start.home_log_odds(part, features)
    elif start is not None:
        of_start = start.trees[part](features.matrix(start.names[part]))
        features = Block.joined(features, Block.of({"start": of_start}))
    places = parts([len(draft.phrases) for draft in drafts])
    return [
        CandidateFeatures(
            draft.phrases,
            draft.texts,
            features.rows(place),
            draft.judged.genre,
            None if log_odds is None else log_odds[place],
        )
        for draft, place in zip(drafts, places, strict=True)
    ]


def _cheap(known: Known, drafts: Sequence[Draft]) -> Block:
    """The features that take little time."""
    phrases = [draft.phrases for draft in drafts]
    documents = Block.stacked([draft.judged.document for draft in drafts])
    number = np.repeat(np.arange(len(drafts)), [len(each) for each in phrases])
    return Block.joined(
        documents.rows(number),
        Block.stacked([draft.own for draft in drafts]),
        known.features(
            [draft.judged.context for draft in drafts], phrases, [draft.words for draft in drafts]
        ),
    )
