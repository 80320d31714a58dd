"""A fitted ranker: its folder, and the predictor made of it.

ranker.json     settings, names of features, where it comes from, SHA-256 of the other files
counts.npz      the phrasebook
topics.npz      the topic model
marker.onnx     the marker, and marker.json the words it knows
labels.json     the known keyphrases
present.onnx    trees that judge what stands in the text
absent.onnx     trees that judge what does not
generator/      an exported model whose phrases are judged as well, if there is one

Nothing in it is code: loading a folder from anywhere runs none.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from keywright.config import Count, Probability, to_table
from keywright.errors import DataError
from keywright.ranking.features import Candidates, Generated, Judged, Knowledge, Written
from keywright.ranking.keys import Table
from keywright.ranking.marker import Marker
from keywright.ranking.phrasebook import Phrasebook
from keywright.ranking.reading import Reading
from keywright.ranking.topics import Topics
from keywright.ranking.trees import Trees
from keywright.runtime.batched import Decode
from keywright.runtime.folder import sha256
from keywright.text.stem import stems
from keywright.text.tokenise import normalise
from keywright.types import Document, Prediction, ScoredPhrase

MANIFEST = "ranker.json"
COUNTS = "counts.npz"
TOPICS = "topics.npz"
LABELS = "labels.json"
MARKER = "marker.onnx"
MARKER_WORDS = "marker.json"
PRESENT = "present.onnx"
ABSENT = "absent.onnx"
GENERATOR = "generator"
FILES = (COUNTS, TOPICS, LABELS, MARKER, MARKER_WORDS, PRESENT, ABSENT)
FORMAT = 2
# Present candidates that are judged, fewer than trees were fitted on: what the marker thinks less
# of is next to never said, and would take half of the time.
MOST_JUDGED = 50
NOISE = 0.02  # what is less probable is not said, even if there is nothing else


@dataclass(frozen=True, kw_only=True)
class Options:
    """Which candidates are said: those of at least a probability, or as many as score best."""

    least_present: Probability | None = None
    least_absent: Probability | None = None
    max_phrases: Count = 50


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    format: int
    keywright: str
    versions: dict[str, str]
    most_words: int  # of a document that are read
    stretch: dict[str, tuple[float, float]]  # slope and offset of log-odds, by part
    sizes: list[int]  # documents in each book of the phrasebook
    config: dict[str, Any]  # what it was fitted with
    files: dict[str, str]


class Label(msgspec.Struct, frozen=True, array_like=True):
    text: str
    stems: tuple[str, ...]


def is_ranker(folder: Path) -> bool:
    return (folder / MANIFEST).is_file()


def read_manifest(folder: Path) -> Manifest:
    path = folder / MANIFEST
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except msgspec.DecodeError as error:
        raise DataError(f"does not describe a ranker: {error}", path) from None
    if manifest.format != FORMAT:
        raise DataError(f"is of format {manifest.format}; this keywright reads {FORMAT}", path)
    for name in FILES:
        if not (folder / name).is_file():
            raise DataError("is missing: the model is not whole; install or fit it again", name)
        if sha256(folder / name) != manifest.files.get(name):
            raise DataError("is not the file that ranker.json describes", folder / name)
    return manifest


class Ranker:
    """Documents -> their phrases with probabilities, most probable first.

    `generate` writes phrases for a batch of documents; what it writes is judged with the rest.
    """

    def __init__(self, folder: Path, options: Options, generate: Decode | None = None):
        self.folder = folder
        self.options = options
        self.manifest = read_manifest(folder)
        self.knowledge = read_knowledge(folder, self.manifest)
        self._generate = generate
        self._parts = (
            Part(Trees(folder / PRESENT), self.manifest.stretch["present"], options.least_present),
            Part(Trees(folder / ABSENT), self.manifest.stretch["absent"], options.least_absent),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Ranker, (self.folder, self.options, self._generate)

    @property
    def description(self) -> dict[str, Any]:
        """All that predictions depend on but the documents."""
        described: dict[str, Any] = {
            "ranker": self.manifest.files,
            "options": to_table(self.options),
        }
        if self._generate is not None:
            described["generator"] = self._generate.description  # type: ignore[attr-defined]
        return described

    def __call__(self, documents: Sequence[Document]) -> list[Prediction]:
        written = generated(self._generate, documents)
        return [self._judge(*pair) for pair in zip(documents, written, strict=True)]

    def _judge(self, document: Document, written: Written) -> Prediction:
        reading = Reading.of(document, self.manifest.most_words)
        judged = Judged(reading, self.knowledge, written)
        present, absent = self._parts
        found = [*present.said(judged.present(MOST_JUDGED)), *absent.said(judged.absent())]
        found.sort(key=lambda phrase: -(phrase.confidence or 0.0))
        return Prediction(document_id=document.id, phrases=tuple(found[: self.options.max_phrases]))


@dataclass(frozen=True)
class Part:
    """How present, or absent, candidates are judged."""

    trees: Trees
    stretch: tuple[float, float]
    least: float | None

    def said(self, candidates: Candidates) -> Iterator[ScoredPhrase]:
        probabilities = stretched(self.trees(candidates.features), self.stretch)
        best_first = np.argsort(-probabilities, kind="stable")
        for number in best_first[: self._count(probabilities[best_first])]:
            yield ScoredPhrase(
                text=candidates.texts[number],
                words=len(candidates.phrases[number]),
                confidence=float(probabilities[number]),
            )

    def _count(self, best_first: NDArray[np.float64]) -> int:
        if self.least is None:
            return worth_saying(best_first)
        return int((best_first >= self.least).sum())


def worth_saying(best_first: NDArray[np.float64]) -> int:
    """How many phrases to say, by their probabilities: as many as are expected to score best.

    So many that F1@M and F1@5 together are the highest, with hits and gold phrases as many as
    probabilities lead to expect. One limit for all documents does worse: where nothing is probable,
    a little more is worth saying, and where much is, a little less.
    """
    likely = best_first[best_first >= NOISE]
    if not len(likely):
        return 0
    gold, hits, said = best_first.sum(), likely.cumsum(), np.arange(1, len(likely) + 1)
    among_5 = hits[np.minimum(said, 5) - 1]
    return int(np.argmax(hits / (said + gold) + among_5 / (5 + gold))) + 1


def stretched(
    probabilities: NDArray[np.float64], stretch: tuple[float, float]
) -> NDArray[np.float64]:
    """Probabilities whose log-odds are stretched and moved."""
    slope, offset = stretch
    odds = np.log(probabilities) - np.log1p(-probabilities)
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * (slope * odds + offset)))


def generated(generate: Decode | None, documents: Sequence[Document]) -> list[Written]:
    """What a generator writes for each document, by stems."""
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


def read_knowledge(folder: Path, manifest: Manifest) -> Knowledge:
    counts, topics = _arrays(folder / COUNTS), _arrays(folder / TOPICS)
    labels = msgspec.json.decode((folder / LABELS).read_bytes(), type=list[Label])
    return Knowledge(
        Phrasebook(
            Table(counts["phrases"], counts["phrase_counts"]),
            Table(counts["words"], counts["word_counts"]),
            tuple(manifest.sizes),
        ),
        Topics(
            topics["terms"],
            topics["idf"].astype(np.float32),
            topics["vectors"],
            [label.text for label in labels],
            [label.stems for label in labels],
            topics["label_vectors"].astype(np.float32),
            topics["label_bias"],
        ),
        Marker(folder / MARKER, folder / MARKER_WORDS),
    )


def _arrays(path: Path) -> dict[str, Any]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        raise DataError(f"cannot be read: {error}", path) from None
