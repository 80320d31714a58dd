"""A fitted ranker: its folder, and the predictor that uses it.

ranker.json          settings, origin, SHA-256 of the other files
counts.npz           the phrasebook
topics.npz           the topic model
labels.json          the known keyphrases
meaning.npz          vectors of words
span_tagger.onnx     the span tagger
span_tagger.json     the words that it knows
present.onnx         trees that score candidates from the text
absent.onnx          trees that score other candidates
start_present.onnx   the same of the ranker that the fit started from, if there is one
start_absent.onnx
start_second.onnx    more trees for present candidates of documents like those of the start
generator/           an exported model whose phrases are candidates as well, if there is one

The folder contains no code: loading one from an unknown source runs none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from keywright.config import Count, Probability, to_table
from keywright.errors import DataError
from keywright.files import NOT_JSON
from keywright.ranking import manifests
from keywright.ranking.arrays import read_arrays
from keywright.ranking.blocks import Matrix
from keywright.ranking.candidates import RankerView
from keywright.ranking.features import (
    CandidateFeatures,
    Judged,
    Knowledge,
    Part,
    SecondTrees,
    Start,
    all_absent,
    all_present,
)
from keywright.ranking.keys import Table
from keywright.ranking.known import Generated, Written
from keywright.ranking.leaning import Leaning
from keywright.ranking.meaning import Meaning, Vectors
from keywright.ranking.phrasebook import PHRASE_COLUMNS, WORD_COLUMNS, Phrasebook
from keywright.ranking.span_tagger import SpanTagger
from keywright.ranking.topics import Topics
from keywright.ranking.trees import Trees, probabilities
from keywright.ranking.variety import FIRST, varied
from keywright.text.reading import Stems
from keywright.text.stem import stems
from keywright.text.tokenise import normalise
from keywright.types import Document, Prediction, ScoredPhrase

MANIFEST = "ranker.json"
COUNTS = "counts.npz"
TOPICS = "topics.npz"
LABELS = "labels.json"
MEANING = "meaning.npz"
SPAN_TAGGER = "span_tagger.onnx"
SPAN_TAGGER_WORDS = "span_tagger.json"
PRESENT = "present.onnx"
ABSENT = "absent.onnx"
TREES: dict[Part, str] = {"present": PRESENT, "absent": ABSENT}
START_TREES: dict[Part, str] = {"present": "start_present.onnx", "absent": "start_absent.onnx"}
SECOND_TREES = "start_second.onnx"
GENERATOR = "generator"
FILES = (COUNTS, TOPICS, LABELS, MEANING, SPAN_TAGGER, SPAN_TAGGER_WORDS, PRESENT, ABSENT)
FORMAT = 4
COUNTS_SIZES = {
    "phrases": ("phrases",),
    "phrase_counts": ("phrases", "phrase columns"),
    "words": ("words",),
    "word_counts": ("words", "word columns"),
}
TOPICS_SIZES = {
    "terms": ("terms",),
    "idf": ("terms",),
    "vectors": ("terms", "numbers per vector"),
    "label_vectors": ("labels", "numbers per vector"),
    "label_bias": ("labels",),
}
MEANING_SIZES = {
    "stems": ("stems",),
    "vectors": ("stems", "numbers per vector"),
    "scale": ("stems",),
}
# How many present candidates the trees score: those that the span tagger ranks highest, more of
# them in longer texts, except where the trees of the start suffice.
SCORED, WORDS_PER_SCORED = 50, 20
LEAST = 1e-9  # probability: log-odds are finite
# Absent phrases need a higher probability to be shown unasked, or for a text of another genre.
SURE_ABSENT = 0.1
NOISE = 0.02  # candidates less probable than this are recommended only to fill a list
# Readers expect one phrase per WORDS_PER_PHRASE words of a text, and a list that they can take in.
# Even a short text has some, one for every WORDS_PER_FIRST words.
WORDS_PER_PHRASE, MOST_EXPECTED = 6, 10
WORDS_PER_FIRST, FIRST_EXPECTED = 3, 5
# What a number of present phrases is chosen for: precision counts 1, recall this much, and the sum
# of P@5 and R@5 this much. Chosen on validation documents.
RECALL, FIRST_FIVE = 0.3, 0.7
FEWEST_PRESENT = 2
# How much less familiar than `familiar` the words of a text in the same language may be. With the
# default model's -9.7, parts lists have -11.5 and clinical notes -10.1; the most familiar of 100
# French texts has -13.0, a Catalan one -13.9, Latin -14.9.
UNUSUAL = 2.8

PlattScaling = tuple[float, float]
"""Slope and offset of log-odds (Platt 1999)."""


class PhraseGenerator(Protocol):
    """What generates phrases for a batch of documents: `runtime.decoder.ExportedDecoder`."""

    @property
    def description(self) -> dict[str, Any]: ...

    def __call__(self, documents: Sequence[Document]) -> list[Prediction]: ...


@dataclass(frozen=True, kw_only=True)
class RankerOptions:
    """Which candidates are recommended; by default the number that is expected to score best."""

    top: Count | None = None  # this many, present and absent
    # At least as many as readers expect, if the document is not a record like those of the start.
    # There people choose phrases for other ends, so that the best number says little.
    fill: bool = True
    present_threshold: Probability | None = None
    absent_threshold: Probability | None = None


class StartManifest(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about the ranker that a fit started from."""

    books: Count  # the first ones of the phrasebook
    most_words: Count  # of a document that its trees were fitted on
    features: dict[Part, list[str]]  # names of the columns that its trees read
    platt: dict[Part, list[PlattScaling]]  # for documents of each of these books
    second: list[str] | None = None  # names of the columns that more trees read, if there are any
    leaning: Leaning = Leaning()


class RankerManifest(msgspec.Struct, frozen=True, kw_only=True):
    format: int
    keywright: str  # the version that fitted it
    versions: dict[str, str]
    most_words: Count  # of a document that are read
    features: dict[Part, list[str]]  # names of the columns that the trees read
    platt: dict[Part, list[PlattScaling]]  # for documents of each genre, in the order of books
    sizes: list[Count]  # documents in each book of the phrasebook
    familiar: float  # nearly all documents like those it was fitted on are at least as familiar
    config: dict[str, Any]  # what it was fitted with
    files: dict[str, str]  # SHA-256 by name
    leaning: Leaning = Leaning()
    start: StartManifest | None = None

    @property
    def file_names(self) -> tuple[str, ...]:
        if self.start is None:
            return FILES
        second = () if self.start.second is None else (SECOND_TREES,)
        return (*FILES, *START_TREES.values(), *second)


class Label(msgspec.Struct, frozen=True, array_like=True):
    text: str
    stems: tuple[str, ...]


def is_ranker(folder: Path) -> bool:
    return (folder / MANIFEST).is_file()


def read_manifest(folder: Path) -> RankerManifest:
    """The manifest of a folder, checked against the files that are there."""
    path = folder / MANIFEST
    manifest = manifests.decode(path, RankerManifest, FORMAT, "a ranker", "fit the ranker again")
    _check(manifest, path)
    manifests.check_files(path, manifest.file_names, manifest.files, "install or fit it again")
    return manifest


def _check(manifest: RankerManifest, path: Path) -> None:
    start = manifest.start
    fitted: list[tuple[RankerManifest | StartManifest, int]] = [(manifest, len(manifest.sizes))]
    if start is not None:
        fitted.append((start, start.books))
    parts = {*TREES}
    for trees, books in fitted:
        if {*trees.platt} != parts or any(len(each) != books for each in trees.platt.values()):
            raise DataError("does not describe a ranker: platt is incomplete", path)
        if {*trees.features} != parts or not all(trees.features.values()):
            raise DataError("does not describe a ranker: features are incomplete", path)
    if start is not None and start.second == []:
        raise DataError("does not describe a ranker: second trees read no features", path)
    if not manifest.sizes or (start is not None and start.books > len(manifest.sizes)):
        raise DataError("does not describe a ranker: sizes are incomplete", path)


class Ranker:
    """Documents -> their phrases with probabilities, most probable first.

    The phrases that `generate` predicts for a document are candidates as well.
    """

    def __init__(
        self, folder: Path, options: RankerOptions, generate: PhraseGenerator | None = None
    ):
        self.folder = folder
        self.options = options
        self.manifest = read_manifest(folder)
        self.knowledge = read_knowledge(folder, self.manifest)
        self._generate = generate
        self._present = CandidateScorer.of(
            folder, self.manifest, "present", options.present_threshold
        )
        self._absent = CandidateScorer.of(folder, self.manifest, "absent", options.absent_threshold)

    def __reduce__(self) -> tuple[Any, ...]:
        return Ranker, (self.folder, self.options, self._generate)

    @property
    def description(self) -> dict[str, Any]:
        """Everything that predictions depend on, except the documents."""
        described = {"ranker": self.manifest.files, "options": to_table(self.options)}
        if self._generate is not None:
            described["generator"] = self._generate.description
        return described

    def is_familiar(self, document: Document) -> bool:
        """Whether a document is like those that the ranker was fitted on."""
        view = RankerView.of(document, self.manifest.most_words)
        return self.knowledge.book.familiarity(view) >= self.manifest.familiar

    def knows_words(self, document: Document) -> bool:
        """Whether the words of a document are those of the language that the ranker was fitted on.

        Unlike stop words, they tell the language of lists and notes, too. A document with too few
        words to judge is not known.
        """
        view = RankerView.of(document, self.manifest.most_words)
        least = self.manifest.familiar - UNUSUAL
        return least <= self.knowledge.book.familiarity(view) < 0

    def words_read(self, document: Document) -> int:
        """How many words of a document like this one are read at once."""
        start = self.manifest.start
        most = self.manifest.most_words
        if start is not None:
            view = RankerView.of(document, most)
            most = start.most_words if self.knowledge.at_home(view) else most
        return most - 1  # a border separates title and body

    def direction(self, stems: Iterable[str]) -> Vectors:
        """The meaning of a text that consists of these stems [D]: a vector of length 1 or 0."""
        return self.knowledge.meaning.text(stems)

    def __call__(self, documents: Sequence[Document]) -> list[Prediction]:
        written = generated(self._generate, documents)
        judged = judge(documents, self.manifest, self.knowledge, written)
        present = all_present(judged, [max_scored(each) for each in judged])
        every = zip(documents, judged, present, all_absent(judged), strict=True)
        return [self._predict(*each) for each in every]

    def judged(self, documents: Sequence[Document]) -> list[Judged]:
        """The candidates of each document, not yet scored."""
        views = [RankerView.of(document, self.manifest.most_words) for document in documents]
        return Judged.all(views, self.knowledge, generated(self._generate, documents))

    @property
    def topics(self) -> Topics:
        return self.knowledge.topics

    def score(
        self, judged: Judged, present: Sequence[Stems], absent: Mapping[Stems, str]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The probabilities of some candidates from the text, and of some phrases as absent."""
        every = judged.present()
        place = {phrase: number for number, phrase in enumerate(every.phrases)}
        sure = self._present.probabilities(every)
        unsure = self._absent.probabilities(judged.as_absent(absent))
        return sure[[place[phrase] for phrase in present]], unsure

    def log_odds(self, candidates: CandidateFeatures, *, present: bool) -> NDArray[np.float64]:
        """The log-odds that each candidate is a keyphrase [C]."""
        scorer = self._present if present else self._absent
        found = scorer.probabilities(candidates).clip(LEAST, 1 - LEAST)
        return np.asarray(np.log(found) - np.log1p(-found))

    def _predict(
        self,
        document: Document,
        judged: Judged,
        present: CandidateFeatures,
        absent: CandidateFeatures,
    ) -> Prediction:
        fills = self.options.fill and self.manifest.start is not None and not judged.is_record
        fills = fills and self.options.present_threshold is None
        expected = expected_count(len(judged.view.reading.text.split())) if fills else 0
        found = [
            *self._present.scored(present, expected),
            *self._absent_ones(judged, absent),
        ]
        found.sort(key=lambda phrase: -(phrase.confidence or 0.0))
        if (top := self.options.top) is not None:
            # Of texts like those of the start, all that is probable is listed: authors choose
            # phrases that contain each other, and absent ones are not to take their places.
            first = top if judged.is_typical else FIRST
            found = _asked(found, _by_text(present, absent), top, first)
        return Prediction(document_id=document.id, phrases=tuple(found))

    def _absent_ones(self, judged: Judged, absent: CandidateFeatures) -> list[ScoredPhrase]:
        """The absent phrases; only probable ones for a text that is unlike those of the start.

        The others come from the start's books: of 1,500 that were found in news, web pages and
        questions, or in their titles alone, 11 were right.
        """
        every = self._absent.scored(absent)
        if judged.is_typical or self.options.absent_threshold is not None:
            return every
        return [phrase for phrase in every if (phrase.confidence or 0.0) >= SURE_ABSENT]


def _by_text(*candidates: CandidateFeatures) -> dict[str, Stems]:
    """The stems of candidates by their texts."""
    return {
        text: phrase
        for each in candidates
        for text, phrase in zip(each.texts, each.phrases, strict=True)
    }


def _asked(
    best_first: Sequence[ScoredPhrase], stems: Mapping[str, Stems], top: int, first: int
) -> list[ScoredPhrase]:
    """The phrases, of which as many are recommended as a user asks for; see `varied`."""
    found = np.array([phrase.confidence or 0.0 for phrase in best_first]).clip(LEAST, 1 - LEAST)
    log_odds = (np.log(found) - np.log1p(-found)).tolist()
    chosen = varied([stems[phrase.text] for phrase in best_first], log_odds, top, first)
    return [
        msgspec.structs.replace(phrase, recommended=rank in chosen)
        for rank, phrase in enumerate(best_first)
    ]


def judge(
    documents: Sequence[Document],
    manifest: RankerManifest,
    knowledge: Knowledge,
    written: Sequence[Written],
) -> list[Judged]:
    """Documents as far as their trees read them: those of the start may read less."""
    views = [RankerView.of(document, manifest.most_words) for document in documents]
    found = Judged.all(views, knowledge, written)
    if (start := manifest.start) is not None:
        for number, judged in enumerate(found):
            if judged.at_home and len(judged.view.words) > start.most_words:
                view = RankerView.of(documents[number], start.most_words)
                found[number] = Judged.of(view, knowledge, written[number], at_home=True)
    return found


def max_scored(judged: Judged) -> int:
    """How many present candidates of a document the trees score."""
    return SCORED if judged.at_home else SCORED + len(judged.view.words) // WORDS_PER_SCORED


@dataclass(frozen=True)
class CandidateScorer:
    """How present, or absent, candidates are scored and selected."""

    part: Part
    trees: Callable[[Matrix], NDArray[np.float64]]
    features: Sequence[str]
    platt: Sequence[PlattScaling]
    start_platt: Sequence[PlattScaling]  # of the trees that the fit started from
    leaning: Leaning
    start_leaning: Leaning
    threshold: float | None

    @classmethod
    def of(
        cls, folder: Path, manifest: RankerManifest, part: Part, threshold: float | None
    ) -> CandidateScorer:
        start = manifest.start
        leans = part == "present"  # absent phrases do not compete with parts of themselves
        return cls(
            part=part,
            trees=Trees(folder / TREES[part]),
            features=manifest.features[part],
            platt=manifest.platt[part],
            start_platt=() if start is None else start.platt[part],
            leaning=manifest.leaning if leans else Leaning(),
            start_leaning=start.leaning if leans and start is not None else Leaning(),
            threshold=threshold,
        )

    def log_odds(self, candidates: CandidateFeatures) -> NDArray[np.float64]:
        """Log-odds before Platt scaling, of the trees that judge the document."""
        if candidates.log_odds is not None:
            found = candidates.log_odds + self.start_leaning(candidates.features.column)
        else:
            trees = self.trees(candidates.matrix(self.features))
            found = trees + self.leaning(candidates.features.column)
        return np.asarray(found, np.float64)

    def probabilities(self, candidates: CandidateFeatures) -> NDArray[np.float64]:
        at_home = candidates.log_odds is not None
        platt = (self.start_platt if at_home else self.platt)[candidates.genre]
        return platt_scaled(self.log_odds(candidates), platt)

    def scored(self, candidates: CandidateFeatures, expected: int = 0) -> list[ScoredPhrase]:
        """All candidates, best first.

        At least `expected` are recommended.
        """
        probabilities = self.probabilities(candidates)
        best_first = np.argsort(-probabilities, kind="stable")
        at_home = candidates.log_odds is not None
        count = max(self._count(probabilities[best_first], at_home), expected)
        ranked = zip(best_first.tolist(), probabilities[best_first].tolist(), strict=True)
        return [
            ScoredPhrase(
                text=candidates.texts[number],
                words=len(candidates.phrases[number]),
                confidence=probability,
                recommended=rank < count,
            )
            for rank, (number, probability) in enumerate(ranked)
        ]

    def _count(self, best_first: NDArray[np.float64], at_home: bool) -> int:
        if self.threshold is not None:
            return int((best_first >= self.threshold).sum())
        choose = present_count if at_home and self.part == "present" else best_count
        return choose(best_first[:SCORED])  # long texts have a long tail of candidates


def best_count(best_first: NDArray[np.float64]) -> int:
    """How many phrases to recommend by their probabilities: the number expected to score best.

    It maximises the sum of F1@M and F1@5, with the expected numbers of hits and of gold phrases. A
    single threshold for all documents does worse: where nothing is probable, it pays to recommend a
    little more, and where much is, a little less.
    """
    likely = best_first[best_first >= NOISE]
    if not len(likely):
        return 0
    gold, hits, count = best_first.sum(), likely.cumsum(), np.arange(1, len(likely) + 1)
    among_5 = hits[np.minimum(count, 5) - 1]
    return int(np.argmax(hits / (count + gold) + among_5 / (5 + gold))) + 1


def present_count(best_first: NDArray[np.float64]) -> int:
    """How many present phrases of a document like those of the start to recommend.

    Unlike `best_count`, it does not maximise the F1 of one document: scores of collections are the
    F1 of mean precision and mean recall (Chan et al. 2019, and most since), to which every document
    adds its own precision and recall. P@5 divides by five however few are listed, so that a list of
    fewer than five loses there what it gains in precision.
    """
    likely = best_first[best_first >= NOISE][:MOST_EXPECTED]
    if not len(likely):
        return 0
    gold, hits, count = best_first.sum(), likely.cumsum(), np.arange(1, len(likely) + 1)
    among_5 = hits[np.minimum(count, 5) - 1]
    worth = hits / count + RECALL * hits / gold + FIRST_FIVE * (among_5 / 5 + among_5 / gold)
    fewest = min(FEWEST_PRESENT, len(likely))
    return fewest + int(np.argmax(worth[fewest - 1 :]))


def expected_count(words: int) -> int:
    """How many phrases readers expect of a text with this many words, if it has enough."""
    first = min(FIRST_EXPECTED, words // WORDS_PER_FIRST)
    return min(MOST_EXPECTED, max(first, words // WORDS_PER_PHRASE))


def platt_scaled(log_odds: NDArray[np.floating[Any]], platt: PlattScaling) -> NDArray[np.float64]:
    slope, offset = platt
    return probabilities(slope * log_odds.astype(np.float64) + offset)


def generated(generate: PhraseGenerator | None, documents: Sequence[Document]) -> list[Written]:
    """What a generator predicts for each document, by stems."""
    if generate is None:
        return [{} for _ in documents]
    return [_written(prediction) for prediction in generate(documents)]


def _written(prediction: Prediction) -> Written:
    found: dict[tuple[str, ...], Generated] = {}
    for rank, phrase in enumerate(prediction.phrases):
        log_probs = phrase.token_log_probs or (0.0,)
        key = tuple(stems(normalise(phrase.text)))
        if key:
            mean = sum(log_probs) / len(log_probs)
            found.setdefault(key, Generated(phrase.text, rank, mean, min(log_probs)))
    return found


def read_knowledge(folder: Path, manifest: RankerManifest) -> Knowledge:
    labels = read_labels(folder / LABELS)
    topics = read_arrays(folder / TOPICS, TOPICS_SIZES, {"labels": len(labels)})
    meaning = read_arrays(folder / MEANING, MEANING_SIZES, {})
    return Knowledge(
        read_phrasebook(folder / COUNTS, manifest.sizes),
        Topics(
            topics["terms"],
            topics["idf"].astype(np.float32),
            topics["vectors"],
            [label.text for label in labels],
            [label.stems for label in labels],
            topics["label_vectors"].astype(np.float32),
            topics["label_bias"],
        ),
        SpanTagger(folder / SPAN_TAGGER, folder / SPAN_TAGGER_WORDS),
        Meaning(meaning["stems"], meaning["vectors"], meaning["scale"]),
        read_start(folder, manifest.start),
    )


def read_start(folder: Path, start: StartManifest | None) -> Start | None:
    if start is None:
        return None
    trees = {part: Trees(folder / name) for part, name in START_TREES.items()}
    second = None
    if start.second is not None:
        second = SecondTrees(Trees(folder / SECOND_TREES), start.second)
    return Start(start.books, trees, start.features, second)


def read_phrasebook(path: Path, sizes: Sequence[int]) -> Phrasebook:
    books = len(sizes)
    columns = {"phrase columns": PHRASE_COLUMNS * books, "word columns": WORD_COLUMNS * books}
    counts = read_arrays(path, COUNTS_SIZES, columns)
    return Phrasebook(
        Table(counts["phrases"], counts["phrase_counts"]),
        Table(counts["words"], counts["word_counts"]),
        tuple(sizes),
    )


def read_labels(path: Path) -> list[Label]:
    try:
        labels = msgspec.json.decode(path.read_bytes(), type=list[Label])
    except NOT_JSON as error:
        raise DataError(f"is not a list of keyphrases: {error}", path) from None
    for number, label in enumerate(labels, start=1):
        if not label.text.strip() or not all(label.stems) or not label.stems:
            raise DataError(f"keyphrase {number} is empty", path)
    return labels
