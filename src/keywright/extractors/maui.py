"""Maui (Medelyan et al. 2009): bagged decision trees over eight properties of a candidate.

Candidates have up to five words; two with the same stems in another order are one. Keyphraseness,
how often a candidate was a keyphrase of the documents it learned from, makes it strong where tags
repeat. The features that need a thesaurus or Wikipedia are left out.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from keywright.config import Count, Natural, Share
from keywright.errors import MissingExtraError
from keywright.extractors import _supervised
from keywright.text.candidates import CandidateText, Span
from keywright.types import Document, Prediction

NAME = "maui"
Array = NDArray[np.float64]
FEATURES = (
    "frequency",  # occurrences / all occurrences of candidates
    "rarity",  # -ln of the share of documents that it occurs in
    "frequency * rarity",
    "first",  # position of the first occurrence, as a share of the document
    "last",
    "spread",  # last - first
    "keyphraseness",  # how many documents it was a keyphrase of
    "words",
)


@dataclass(frozen=True)
class Config:
    fitted: str | None = None  # a file of `keywright fit-extractor maui`
    longest: Count = 5  # words
    trees: Count = 10
    bag: Share = 0.1  # candidates that each tree learns from, as a share of all
    seed: Natural = 1
    max_phrases: Count = 10


class Tree(Struct, frozen=True):
    """A decision tree: node by node, with the children's numbers; a leaf has -1 for them."""

    feature: tuple[int, ...]
    threshold: tuple[float, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    share: tuple[float, ...]  # of keyphrases among the candidates that reached the node

    def predict(self, values: Array) -> Array:
        """The share of keyphrases in the leaf of every row [N, F]."""
        feature, threshold = np.array(self.feature), np.array(self.threshold)
        left, right = np.array(self.left), np.array(self.right)
        node = np.zeros(len(values), dtype=np.int64)
        while (inner := np.flatnonzero(left[node] >= 0)).size:
            at = node[inner]
            goes_left = values[inner, feature[at]] <= threshold[at]
            node[inner] = np.where(goes_left, left[at], right[at])
        found: Array = np.array(self.share)[node]
        return found


class Learned(Struct, frozen=True):
    documents: int
    frequencies: dict[str, int]  # of candidates that occur in two documents or more
    keyphraseness: dict[str, int]
    trees: tuple[Tree, ...]


@dataclass(frozen=True)
class Counts:
    """What is known of a corpus; `own` says that the document at hand is one of it."""

    documents: int
    frequencies: Mapping[str, int]
    keyphraseness: Mapping[str, int]
    own: bool


@dataclass(frozen=True)
class Maui:
    config: Config
    learned: Learned

    @property
    def window(self) -> int:
        return 1

    def predict(self, documents: Iterable[Document]) -> Iterator[Prediction]:
        learned = self.learned
        counts = Counts(learned.documents, learned.frequencies, learned.keyphraseness, own=False)
        for document in documents:
            text = CandidateText.of(document)
            places = pseudo_phrases(text, self.config.longest)
            values = features(text, places, counts)
            scores = np.mean([tree.predict(values) for tree in learned.trees], axis=0)
            # Equal scores are frequent with ten trees: the one with the higher TFxIDF first.
            best = np.lexsort((-values[:, 2], -scores))[: self.config.max_phrases]
            spans = list(places.values())
            yield text.ranked(document, [(spans[at][0], float(scores[at])) for at in best])


def build(config: Config) -> Maui:
    return Maui(config, _supervised.load(config.fitted, NAME, Learned))


def pseudo_phrases(text: CandidateText, longest: int) -> dict[str, list[Span]]:
    """The places of candidates, by their sorted stems."""
    places: dict[str, list[Span]] = {}
    for start, end in _supervised.candidate_spans(text, longest):
        places.setdefault(_key(text.stems[start:end]), []).append((start, end))
    return places


def features(text: CandidateText, places: Mapping[str, list[Span]], counts: Counts) -> Array:
    """The values [N, F] of `FEATURES`. In training, a document does not count itself."""
    size, total = len(text.words), sum(map(len, places.values()))
    rows = []
    for phrase, spans in places.items():
        occurs_in = counts.frequencies.get(phrase, int(counts.own)) - counts.own
        rarity = -math.log((occurs_in + 1) / (counts.documents - counts.own + 1))
        first, last = spans[0][0] / size, spans[-1][0] / size
        frequency = len(spans) / total
        known = counts.keyphraseness.get(phrase, 0)
        words = spans[0][1] - spans[0][0]
        rows.append(
            (frequency, rarity, frequency * rarity, first, last, last - first, known, words)
        )
    return np.array(rows, dtype=np.float64).reshape(-1, len(FEATURES))


def fit(documents: Iterable[Document], config: Config) -> Learned:
    """Learn from documents with keyphrases."""
    gold = _supervised.require_gold(documents, NAME)
    texts = [CandidateText.of(document) for document in gold]
    found = [pseudo_phrases(text, config.longest) for text in texts]
    frequencies = _supervised.document_frequencies(found)
    chosen = [{_key(stems) for stems in _supervised.gold_stems(document)} for document in gold]
    keyphraseness = Counter(phrase for phrases in chosen for phrase in phrases)
    rows, labels = [], []
    for text, places, right in zip(texts, found, chosen, strict=True):
        others = {phrase: keyphraseness[phrase] - (phrase in right) for phrase in places}
        rows.append(features(text, places, Counts(len(gold), frequencies, others, own=True)))
        labels += [phrase in right for phrase in places]
    trees = tuple(_bagged(np.concatenate(rows), np.array(labels), config))
    return Learned(len(gold), frequencies, dict(keyphraseness), trees)


def _bagged(values: Array, labels: NDArray[np.bool_], config: Config) -> Iterator[Tree]:
    """Unpruned trees, each from a random part of the candidates, drawn with replacement."""
    try:
        from sklearn.tree import DecisionTreeClassifier
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "sklearn":
            raise
        raise MissingExtraError("fitting maui", "scikit-learn", "analysis") from None
    draw = np.random.default_rng(config.seed)
    size = max(1, round(config.bag * len(values)))
    for _ in range(config.trees):
        rows = draw.integers(len(values), size=size)
        model = DecisionTreeClassifier(
            criterion="entropy",
            min_samples_leaf=2,
            random_state=int(draw.integers(2**31)),
        )
        yield _tree(model.fit(values[rows], labels[rows]))


def _tree(model: object) -> Tree:
    nodes = model.tree_  # type: ignore[attr-defined]
    known = model.classes_.tolist()  # type: ignore[attr-defined]
    values = nodes.value[:, 0, :]
    share = values[:, known.index(True)] / values.sum(axis=1) if True in known else 0 * values[:, 0]
    return Tree(
        tuple(nodes.feature.tolist()),
        tuple(nodes.threshold.tolist()),
        tuple(nodes.children_left.tolist()),
        tuple(nodes.children_right.tolist()),
        tuple(share.tolist()),
    )


def _key(stems: Iterable[str]) -> str:
    return " ".join(sorted(stems))
