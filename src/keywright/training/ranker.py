"""Fitting a ranker: see `ranking` for what it is.

Counts, topics and the marker are learnt from most of the training documents, trees from the others,
of whose gold the former are as ignorant as they will be of that of new documents. Validation
documents set the two numbers that stretch the trees' probabilities.
"""

from __future__ import annotations

import importlib.metadata
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

import keywright
from keywright import runtime
from keywright.config import Count, to_table
from keywright.data.documents import read_documents
from keywright.errors import DataError, KeywrightError
from keywright.evaluate import evaluate
from keywright.files import atomic_write
from keywright.ranking import phrasebook
from keywright.ranking.features import Candidates, Judged, Knowledge, Written
from keywright.ranking.model import (
    ABSENT,
    COUNTS,
    FILES,
    FORMAT,
    GENERATOR,
    LABELS,
    MANIFEST,
    MARKER,
    MARKER_WORDS,
    PRESENT,
    TOPICS,
    Label,
    Manifest,
    Part,
    generated,
    read_knowledge,
)
from keywright.ranking.phrasebook import gold_stems
from keywright.ranking.reading import Reading
from keywright.ranking.trees import Trees
from keywright.runtime.batched import Decode
from keywright.runtime.folder import sha256
from keywright.training import marker as marker_training
from keywright.training import topics as topic_training
from keywright.training.forest import Forest, Rows, write_trees
from keywright.training.marker_graph import write_marker
from keywright.types import Document, Prediction

BATCH = 32
PARTS = (("present", PRESENT), ("absent", ABSENT))
# They name what was learnt from, so that it is learnt once; loading does not need them.
COUNTS_FROM, MARKER_FROM = "counts.txt", "marker.txt"
MARKER_CHECKPOINT = "marker.safetensors"
KEPT = 10  # every tenth document tells when trees have learnt enough
INDIFFERENT = ("checkpoint_minutes",)  # settings that change no result
CHECKED = 64  # documents whose marks must be the same in ONNX
LIBRARIES = ("numpy", "torch", "scikit-learn", "onnx")


@dataclass(frozen=True)
class Config:
    train: tuple[str, ...]  # one book of the phrasebook each
    valid: tuple[str, ...]
    train_documents: Count | None = None  # of each file; all by default
    valid_documents: Count = 2000  # of each file
    held_out: Count = 12_000  # of each training file, for the trees
    most_words: Count = 400
    topics: topic_training.Config = field(default_factory=topic_training.Config)
    marker: marker_training.Config = field(default_factory=marker_training.Config)
    trees: Forest = field(default_factory=Forest)


Say = Callable[[str], None]
Probabilities = NDArray[np.float64]


def fit(config: Config, folder: Path, generator: Path | None, say: Say) -> None:
    """Fit a ranker into a folder; what is there already and was learnt alike is kept.

    `generator` is the folder of an exported model, which becomes part of the ranker.
    """
    generate = None if generator is None else runtime.load(generator).decode
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MANIFEST).unlink(missing_ok=True)  # it comes last, when all it describes is there
    _keep_generator(generator, folder / GENERATOR)
    learnt, held = _split(config)
    _learn_once(config, learnt, folder, say)
    manifest = _manifest(config, learnt)
    del learnt  # hundreds of megabytes
    knowledge = read_knowledge(folder, manifest)
    _fit_trees(config, folder, _samples(knowledge, held, generate, config.most_words), say)
    _finish(config, folder, manifest, knowledge, generate, say)


def size(folder: Path) -> int:
    """Bytes of a ranker's files."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _keep_generator(generator: Path | None, place: Path) -> None:
    if generator is not None and place.exists() and generator.samefile(place):
        return
    shutil.rmtree(place, ignore_errors=True)
    if generator is not None:
        shutil.copytree(generator, place)


def _split(config: Config) -> tuple[list[list[Document]], list[Document]]:
    """For counts and topics, file by file, and for the trees: no document is for both."""
    learnt: list[list[Document]] = []
    held: list[Document] = []
    for path in config.train:
        documents = _read(path, config.train_documents)
        if len(documents) < 2:
            raise DataError("has too few documents with keyphrases to learn from", path)
        size = min(config.held_out, len(documents) // 2)
        held += documents[:size]
        learnt.append(documents[size:])
    return learnt, held


def _read(path: str, most: int | None) -> list[Document]:
    return [document for document in islice(read_documents(path), most) if document.keyphrases]


def _manifest(config: Config, learnt: Sequence[Sequence[Document]]) -> Manifest:
    return Manifest(
        format=FORMAT,
        keywright=keywright.__version__,
        versions={name: importlib.metadata.version(name) for name in LIBRARIES},
        most_words=config.most_words,
        stretch={},
        sizes=[len(documents) for documents in learnt],
        config=to_table(config),
        files={},
    )


def _learn_once(config: Config, learnt: list[list[Document]], folder: Path, say: Say) -> None:
    """Learn all but the trees, unless it is there, learnt from these documents in this way.

    Of other documents it might know the gold of those that trees are to be fitted on.
    """
    documents = _digest(learnt)
    origin = _origin(documents, config, config.topics)
    if _is_there(folder / COUNTS_FROM, origin, COUNTS, TOPICS, LABELS):
        say("counts and topics are there already")
    else:
        _learn_counts(config, learnt, folder, say)
        _vouch(folder / COUNTS_FROM, origin)
    origin = _origin(documents, config, config.marker)
    if _is_there(folder / MARKER_FROM, origin, MARKER, MARKER_WORDS):
        say("the marker is there already")
    else:
        _learn_marker(config, learnt, folder, origin, say)
        _vouch(folder / MARKER_FROM, origin)
    (folder / MARKER_CHECKPOINT).unlink(missing_ok=True)


def _is_there(note: Path, origin: str, *files: str) -> bool:
    whole = all((note.parent / name).is_file() for name in (note.name, *files))
    if whole and note.read_text("utf-8") == origin:
        return True
    note.unlink(missing_ok=True)  # it comes last, when all it vouches for is there
    return False


def _vouch(note: Path, origin: str) -> None:
    with atomic_write(note) as file:
        cast(IO[str], file).write(origin)


def _digest(learnt: Iterable[Iterable[Document]]) -> str:
    digest = blake2b()
    for book, documents in enumerate(learnt):
        for document in documents:
            digest.update(msgspec.json.encode((book, document)))
    return digest.hexdigest()


def _origin(documents: str, config: Config, part: Any) -> str:
    """A digest of all that a part depends on."""
    table = {key: value for key, value in to_table(part).items() if key not in INDIFFERENT}
    settings = [FORMAT, config.most_words, table, documents]
    return blake2b(msgspec.json.encode(settings)).hexdigest()


def _learn_marker(
    config: Config, learnt: list[list[Document]], folder: Path, origin: str, say: Say
) -> None:
    every = [document for documents in learnt for document in documents]
    corpus = marker_training.Corpus(every, config.most_words, config.marker)
    say(f"marker: {len(corpus):,} documents, {len(corpus.known.stems):,} stems")
    model = marker_training.learn(corpus, config.marker, folder / MARKER_CHECKPOINT, origin, say)
    some = range(0, len(corpus), max(1, len(corpus) // CHECKED))
    write_marker(folder / MARKER, model, corpus.batch(list(some)))
    with atomic_write(folder / MARKER_WORDS, "wb") as file:
        cast(IO[bytes], file).write(msgspec.json.encode(corpus.known))


def _learn_counts(config: Config, learnt: list[list[Document]], folder: Path, say: Say) -> None:
    writer = phrasebook.Writer(len(learnt))
    terms = []
    for book, documents in enumerate(learnt):
        for document in documents:
            reading = Reading.of(document, config.most_words)
            writer.add(book, reading, gold_stems(document))
            terms.append(reading.terms)
        say(f"{config.train[book]}: {len(documents):,} documents counted")
    book_ = writer.book()
    _save(
        folder / COUNTS,
        phrases=book_.phrases.keys,
        phrase_counts=book_.phrases.rows,
        words=book_.words.keys,
        word_counts=book_.words.rows,
    )
    say(f"{len(book_.phrases):,} phrases and {len(book_.words):,} words")
    every = [document for documents in learnt for document in documents]
    topics = topic_training.learn(every, terms, config.topics, say)
    labels = [Label(*pair) for pair in zip(topics.labels, topics.label_stems, strict=True)]
    with atomic_write(folder / LABELS, "wb") as file:
        cast(IO[bytes], file).write(msgspec.json.encode(labels))
    _save(
        folder / TOPICS,
        terms=topics.terms.keys,
        idf=topics.idf.astype(np.float16),
        vectors=topics.vectors,
        label_vectors=topics.label_vectors.astype(np.float16),
        label_bias=topics.label_bias,
    )


def _save(path: Path, **arrays: Any) -> None:
    with atomic_write(path, "wb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Sample:
    """The candidates of one document, and which of them are right."""

    document: Document
    present: Candidates
    absent: Candidates
    gold: frozenset[tuple[str, ...]]


def _samples(
    knowledge: Knowledge, documents: Sequence[Document], generate: Decode | None, most_words: int
) -> list[Sample]:
    found = []
    for document, written in _with_written(documents, generate):
        judged = Judged(Reading.of(document, most_words), knowledge, written)
        gold = frozenset(gold_stems(document))
        found.append(Sample(document, judged.present(), judged.absent(), gold))
    return found


def _with_written(
    documents: Sequence[Document], generate: Decode | None
) -> Iterator[tuple[Document, Written]]:
    # Batches of like length pad little.
    order = sorted(documents, key=lambda document: len(document.text))
    for start in range(0, len(order), BATCH):
        batch = order[start : start + BATCH]
        yield from zip(batch, generated(generate, batch), strict=True)


def _fit_trees(config: Config, folder: Path, samples: Sequence[Sample], say: Say) -> None:
    say(f"{len(samples):,} documents for the trees")
    for part, name in PARTS:
        # Samples are sorted by length: those kept are of all lengths.
        kept = _rows(samples[::KEPT], part)
        others = _rows([one for number, one in enumerate(samples) if number % KEPT], part)
        right = others.right
        say(f"{part}: {len(right):,} candidates to learn from, {right.mean():.2%} right")
        write_trees(folder / name, others, kept, config.trees)


def _rows(samples: Sequence[Sample], part: str) -> Rows:
    """The features of all candidates, and which of them are right: some, or nothing is learnt."""
    candidates: list[Candidates] = [getattr(sample, part) for sample in samples]
    right = np.array(
        [
            phrase in sample.gold
            for sample, one in zip(samples, candidates, strict=True)
            for phrase in one.phrases
        ],
        dtype=np.bool_,
    )
    if not right.any() or right.all():
        raise KeywrightError(
            f"{right.sum():,} of {len(right):,} {part} candidates are keyphrases of the "
            f"{len(samples):,} documents they come from, so there is nothing to tell apart; give "
            "more documents, and look at their keyphrases"
        )
    return Rows(np.concatenate([one.features for one in candidates]), right)


def _finish(
    config: Config, folder: Path, manifest: Manifest, knowledge: Knowledge,
    generate: Decode | None, say: Say,
) -> None:  # fmt: skip
    """Stretch probabilities on validation documents, tell the scores there, write the manifest."""
    documents = [
        document for path in config.valid for document in _read(path, config.valid_documents)
    ]
    samples = _samples(knowledge, documents, generate, config.most_words)
    stretch = {}
    for part, name in PARTS:
        rows = _rows(samples, part)
        trees = Trees(folder / name)
        stretch[part] = _stretch(trees(rows.features), rows.right)
        say(f"{part}: {_scores(samples, part, trees, stretch[part])} on validation documents")
    files = {name: sha256(folder / name) for name in FILES}
    complete = msgspec.structs.replace(manifest, stretch=stretch, files=files)
    with atomic_write(folder / MANIFEST, "wb") as file:
        cast(IO[bytes], file).write(msgspec.json.format(msgspec.json.encode(complete)))


def _stretch(probabilities: Probabilities, right: NDArray[np.bool_]) -> tuple[float, float]:
    """Platt's (1999) slope and offset of log-odds."""
    from sklearn.linear_model import LogisticRegression

    odds = np.log(probabilities) - np.log1p(-probabilities)
    fitted = LogisticRegression(C=1e6).fit(odds.reshape(-1, 1), right)
    return float(fitted.coef_[0, 0]), float(fitted.intercept_[0])


def _scores(
    samples: Sequence[Sample], part: str, trees: Trees, stretch: tuple[float, float]
) -> str:
    judge = Part(trees, stretch, least=None)
    predictions = [
        Prediction(phrases=tuple(judge.said(getattr(sample, part)))) for sample in samples
    ]
    documents = [sample.document for sample in samples]
    names = [f"{part}.F1@5", f"{part}.F1@M"]
    scores = evaluate(documents, predictions, metrics=names, match="line").scores
    return ", ".join(f"{name} {100 * score:.2f}" for name, score in scores.items())
