"""A ranker adapted to a user's documents: its folder, and the predictor that uses it.

adapted.json     settings, weights, cross-validated scores, SHA-256 of the other files
collection.npz   what the documents taught: see `ranking.collection`
labels.json      their keyphrases
base/            the ranker that was adapted, unchanged

A second stage, a logistic regression, combines the log-odds of the ranker with what the collection
knows about a candidate. `adaptation` fits it. The folder contains no code: loading one from an
unknown source runs none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from keywright.config import Probability, to_table
from keywright.errors import DataError
from keywright.ranking import manifests
from keywright.ranking.collection import (
    WORD_DOCUMENTS,
    WORD_KEYPHRASES,
    Collection,
    Nearness,
    read_collection,
)
from keywright.ranking.features import CandidateFeatures, Judged
from keywright.ranking.keys import keys, word_keys
from keywright.ranking.model import MANIFEST as BASE_MANIFEST
from keywright.ranking.model import NOISE, Ranker, read_labels
from keywright.ranking.topics import Topics
from keywright.ranking.trees import probabilities
from keywright.text.reading import Stems
from keywright.types import Document, Prediction, ScoredPhrase

MANIFEST = "adapted.json"
COLLECTION = "collection.npz"
LABELS = "labels.json"
BASE = "base"
FILES = (COLLECTION, LABELS, f"{BASE}/{BASE_MANIFEST}")
FORMAT = 1

MOST_PRESENT = 100  # candidates from the text, besides all known labels that occur in it
NEAREST = 40  # absent labels that each kind of nearness suggests
LARGEST_ODDS = 15.0

Column = NDArray[Any]
Matrix = NDArray[np.float32]
Probabilities = NDArray[np.float64]


class Weights(msgspec.Struct, frozen=True):
    """A logistic regression: the log-odds of a row are `row @ coefficients + intercept`."""

    coefficients: list[float]
    intercept: float

    def probabilities(self, rows: Matrix) -> Probabilities:
        return probabilities(rows.astype(np.float64) @ np.array(self.coefficients) + self.intercept)


class AdaptedManifest(msgspec.Struct, frozen=True, kw_only=True):
    format: int
    keywright: str  # the version that adapted it
    documents: int  # that it learnt from
    present: Weights
    absent: Weights
    scores: dict[str, Any]  # of cross-validation
    files: dict[str, str]  # SHA-256 by name


@dataclass(frozen=True, kw_only=True)
class AdaptedOptions:
    """Which candidates are predicted: those above a threshold, or the number that scores best."""

    present_threshold: Probability | None = None
    absent_threshold: Probability | None = None


@dataclass(frozen=True)
class Candidates:
    """Phrases of one document with the features of the second stage."""

    phrases: list[Stems]
    texts: list[str]
    rows: Matrix  # [C, F]

    def predicted(self, weights: Weights, threshold: float | None) -> list[ScoredPhrase]:
        found = weights.probabilities(self.rows)
        best_first = np.argsort(-found, kind="stable")
        count = suitable_count(found[best_first], threshold)
        return [
            ScoredPhrase(
                text=self.texts[number],
                words=len(self.phrases[number]),
                confidence=float(found[number]),
                recommended=rank < count,
            )
            for rank, number in enumerate(best_first)
        ]


def suitable_count(best_first: Probabilities, threshold: float | None) -> int:
    """How many phrases to predict, given their probabilities: the number expected to score best.

    It maximises F1@M with the expected numbers of hits and of gold phrases, so that it follows the
    number of keyphrases that the user's documents have.
    """
    if threshold is not None:
        return int((best_first >= threshold).sum())
    likely = best_first[best_first >= NOISE]
    if not len(likely):
        return 0
    count = np.arange(1, len(likely) + 1)
    return int(np.argmax(likely.cumsum() / (count + best_first.sum()))) + 1


class AdaptedRanker:
    """Documents -> their phrases with probabilities, most probable first."""

    def __init__(self, folder: Path, options: AdaptedOptions, base: Ranker):
        self.folder, self.options, self.base = folder, options, base
        self.manifest = read_manifest(folder)
        labels = read_labels(folder / LABELS)
        self.collection = read_collection(
            folder / COLLECTION,
            [label.text for label in labels],
            [label.stems for label in labels],
            base.knowledge.topics.label_vectors.shape[1],
        )
        self._check_weights()

    def _check_weights(self) -> None:
        """An error unless there is a weight for every feature, found with an empty document."""
        (judged,) = self.base.judged([Document(title="", body="")])
        described = Described(self.base, judged)
        near = self.collection.near(judged.view.terms, judged.topic.vector)
        for weights, candidates in (
            (self.manifest.present, described.present(self.collection, near)),
            (self.manifest.absent, described.absent(self.collection, near)),
        ):
            if len(weights.coefficients) != candidates.rows.shape[1]:
                raise DataError(
                    f"has {len(weights.coefficients)} coefficients for "
                    f"{candidates.rows.shape[1]} features; adapt the model again",
                    self.folder / MANIFEST,
                )

    def __reduce__(self) -> tuple[Any, ...]:
        return AdaptedRanker, (self.folder, self.options, self.base)

    @property
    def description(self) -> dict[str, Any]:
        """Everything that predictions depend on, except the documents."""
        weights = msgspec.to_builtins([self.manifest.present, self.manifest.absent])
        described = {"files": self.manifest.files, "weights": weights}
        return {"adapted": described, "base": self.base.description, **to_table(self.options)}

    def __call__(self, documents: Sequence[Document]) -> list[Prediction]:
        judged = self.base.judged(documents)
        return [self._predict(*pair) for pair in zip(documents, judged, strict=True)]

    @property
    def topics(self) -> Topics:
        return self.base.topics

    def judged(self, documents: Sequence[Document]) -> list[Judged]:
        """The candidates of each document, not yet scored."""
        return self.base.judged(documents)

    def score(
        self, judged: Judged, present: Sequence[Stems], absent: Mapping[Stems, str]
    ) -> tuple[Probabilities, Probabilities]:
        """The probabilities of some candidates from the text, and of some phrases as absent."""
        near = self.collection.near(judged.view.terms, judged.topic.vector)
        described = Described(self.base, judged)
        sure = described.these_present(present, self.collection, near)
        unsure = described.these_absent(absent, self.collection, near)
        return (
            self.manifest.present.probabilities(sure.rows),
            self.manifest.absent.probabilities(unsure.rows),
        )

    def _predict(self, document: Document, judged: Judged) -> Prediction:
        described = Described(self.base, judged)
        near = self.collection.near(judged.view.terms, judged.topic.vector)
        found = [
            *described.present(self.collection, near).predicted(
                self.manifest.present, self.options.present_threshold
            ),
            *described.absent(self.collection, near).predicted(
                self.manifest.absent, self.options.absent_threshold
            ),
        ]
        found.sort(key=lambda phrase: -(phrase.confidence or 0.0))
        return Prediction(document_id=document.id, phrases=tuple(found))


class Described:
    """A document's candidates, scored by the ranker, described by a collection."""

    def __init__(self, base: Ranker, judged: Judged):
        self._base, self._judged = base, judged
        self._present = judged.present()
        self._number = {phrase: number for number, phrase in enumerate(self._present.phrases)}
        self._odds = base.log_odds(self._present, present=True)

    def present(self, collection: Collection, near: Nearness) -> Candidates:
        """The most probable candidates from the text, and all that are labels."""
        known = collection.label_places(keys(self._present.phrases)) >= 0
        best = np.zeros(len(known), np.bool_)
        best[np.argsort(-self._odds, kind="stable")[:MOST_PRESENT]] = True
        chosen = [self._present.phrases[number] for number in np.flatnonzero(best | known)]
        return self.these_present(chosen, collection, near)

    def these_present(
        self, phrases: Sequence[Stems], collection: Collection, near: Nearness
    ) -> Candidates:
        """Some candidates from the text."""
        numbers = [self._number[phrase] for phrase in phrases]
        columns = {
            **_known_columns(phrases, self._odds[numbers], collection, near),
            **self._places(phrases),
        }
        texts = [self._present.texts[number] for number in numbers]
        return Candidates(list(phrases), texts, _matrix(columns, KNOWN_TOO))

    def absent(self, collection: Collection, near: Nearness) -> Candidates:
        """What the ranker suggests, and the nearest labels, if the text lacks them."""
        own = self._judged.absent()
        texts = dict(zip(own.phrases, own.texts, strict=True))
        for label in near.best(NEAREST):
            phrase = collection.label_stems[label]
            if phrase not in texts and not self._judged.view.has(phrase):
                texts[phrase] = collection.labels[label]
        return self.these_absent(texts, collection, near)

    def these_absent(
        self, texts: Mapping[Stems, str], collection: Collection, near: Nearness
    ) -> Candidates:
        """Some phrases with their spellings, as if the text lacked them."""
        candidates: CandidateFeatures = self._judged.as_absent(texts)
        phrases = candidates.phrases
        odds = self._base.log_odds(candidates, present=False)
        columns = {
            **_known_columns(phrases, odds, collection, near),
            **self._shares(phrases),
        }
        return Candidates(phrases, candidates.texts, _matrix(columns, KNOWN_TOO))

    def _places(self, phrases: Sequence[Stems]) -> dict[str, Column]:
        view = self._judged.view
        found = [view.candidates[phrase] for phrase in phrases]
        first = np.array([candidate.places[0] for candidate in found], np.float32)
        return {
            "in_title": (first < view.title).astype(np.float32),
            "first": np.log1p(first),
            "count": np.log1p(np.array([candidate.count for candidate in found], np.float32)),
        }

    def _shares(self, phrases: Sequence[Stems]) -> dict[str, Column]:
        """The share of a phrase's words that occur in the text, and in the title."""
        view = self._judged.view
        return {
            name: np.array(
                [sum(stem in stems for stem in phrase) / len(phrase) for phrase in phrases],
                np.float32,
            )
            for name, stems in (("in_text", view.tally), ("in_title", view.titled))
        }


# Columns that count a second time, on their own scale, for phrases that are labels.
KNOWN_TOO = ("odds", "in_title", "first", "count", "in_text", "length1")


def _known_columns(
    phrases: Sequence[Stems], odds: Column, collection: Collection, near: Nearness
) -> dict[str, Column]:
    found = keys(phrases)
    places = collection.label_places(found)
    known = places >= 0
    counts, documents = np.zeros(len(phrases)), collection.phrases.look_up(found)[:, 0]
    counts[known] = collection.counts[places[known]]
    lengths = np.array([len(phrase) for phrase in phrases])
    rate = np.log(counts + 0.5) - np.log(np.maximum(documents - counts, 0) + 0.5)
    columns: dict[str, Column] = {
        "odds": np.clip(odds, -LARGEST_ODDS, LARGEST_ODDS),
        "known": known,
        "known.count": known * np.log1p(counts),
        "known.rate": known * rate,
        "documents": np.log1p(documents),
        "words": _word_rates(phrases, lengths, collection),
        "length1": lengths == 1,
        "length2": lengths == 2,
        "document.neighbours": np.full(len(phrases), near.neighbours.max(initial=0.0)),
        "document.centre": np.full(len(phrases), near.centre.max(initial=0.0)),
    }
    for name, values in near.columns().items():
        columns[f"near.{name}"] = np.zeros(len(phrases))
        columns[f"near.{name}"][known] = values[places[known]]
    return columns


def _word_rates(phrases: Sequence[Stems], lengths: Column, collection: Collection) -> Column:
    """The mean log-share of documents with a phrase's words that have them in a keyphrase."""
    if not phrases:
        return np.empty(0)
    rows = collection.words.look_up(word_keys(stem for phrase in phrases for stem in phrase))
    rates = np.log((rows[:, WORD_KEYPHRASES] + 0.1) / (rows[:, WORD_DOCUMENTS] + 2))
    return np.add.reduceat(rates, lengths.cumsum() - lengths) / lengths


def _matrix(columns: Mapping[str, Column], twice: Sequence[str]) -> Matrix:
    known = columns["known"]
    extra = [columns[name] * known for name in twice if name in columns]
    return np.stack([*columns.values(), *extra], axis=1).astype(np.float32)


def is_adapted(folder: Path) -> bool:
    return (folder / MANIFEST).is_file()


def read_manifest(folder: Path) -> AdaptedManifest:
    """The manifest of a folder, checked against the files that are there."""
    path = folder / MANIFEST
    manifest = manifests.decode(
        path, AdaptedManifest, FORMAT, "an adapted model", "adapt the model again"
    )
    manifests.check_files(path, FILES, manifest.files, "adapt it again")
    return manifest
