"""Fitting a ranker: see `ranking` for what it is.

Counts, topics and the span tagger are learnt from most of the training documents, and the trees
from the others, whose gold phrases the former have not seen, as will be the case for new documents.
Validation documents determine the Platt scaling of the trees' probabilities.
"""

from __future__ import annotations

import importlib.metadata
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

import keywright
from keywright import runtime
from keywright.config import Count, Positive, to_table
from keywright.data.documents import read_documents
from keywright.errors import ConfigError, DataError, KeywrightError
from keywright.evaluate import evaluate
from keywright.export.span_tagger import write_span_tagger
from keywright.files import atomic_write, read_lines, sha256
from keywright.ranking import phrasebook
from keywright.ranking.candidates import RankerView
from keywright.ranking.features import CandidateFeatures, Knowledge, Part
from keywright.ranking.fitting import meaning as meaning_fitting
from keywright.ranking.fitting import span_tagger as span_tagging
from keywright.ranking.fitting import topics as topic_fitting
from keywright.ranking.fitting.forest import Forest, LabelledRows, fit_trees
from keywright.ranking.leaning import Leaning
from keywright.ranking.model import (
    COUNTS,
    FORMAT,
    GENERATOR,
    LABELS,
    MANIFEST,
    MEANING,
    SECOND_TREES,
    SPAN_TAGGER,
    SPAN_TAGGER_WORDS,
    START_TREES,
    TOPICS,
    TREES,
    CandidateScorer,
    Label,
    PhraseGenerator,
    PlattScaling,
    RankerManifest,
    StartManifest,
    generated,
    judge,
    max_scored,
    read_knowledge,
    read_manifest,
    read_phrasebook,
)
from keywright.ranking.phrasebook import Phrasebook, gold_stems
from keywright.types import Document, Prediction

BATCH = 32
TAKEN_OVER = ("topics", "span_tagger")  # from the ranker that a fit starts from
SPAN_TAGGER_CHECKPOINT = "span_tagger.safetensors"
STOPPING = 10  # every tenth document is used for early stopping of the trees
UNCASED = 3  # every third document is read in lower case: prepared texts have no capitals
NO_EFFECT = ("checkpoint_minutes",)  # settings that do not change the result
LEAST_FAMILIAR = 1.0  # percent of validation documents that count as unlike the others
FEWEST_HITS = 50  # correct candidates from which the probabilities of a genre can be scaled
IDENTITY: PlattScaling = (1.0, 0.0)
CHECKED = 64  # documents on which the span tagger is compared in torch and in ONNX
LIBRARIES = ("numpy", "torch", "scikit-learn", "onnx")


@dataclass(frozen=True)
class Book:
    """The documents of one genre, whose counts are a book of the phrasebook."""

    train: str
    valid: str
    held_out: Count = 12_000  # training documents for the trees
    by_source: bool = False  # hold out whole sources (field `source`), the smallest first
    for_trees: Count | None = None  # how many of these the trees are fitted on; all by default
    weight: Positive = 1.0  # of all its candidates together, when the trees are fitted
    # Documents whose words may get vectors (all by default), and how often each word counts.
    sampled: Count | None = None
    repeats: Count = 1


@dataclass(frozen=True)
class Second:
    """More trees for documents like those of the start, which read everything that is cheap."""

    documents: Count = 10_000  # from each book of the start, of those that it held out
    valid_documents: Count = 2000  # from each, for Platt scaling
    trees: Forest = field(default_factory=Forest)


@dataclass(frozen=True)
class Config:
    books: tuple[Book, ...]
    # A fitted ranker, whose topics and span tagger are used as they are. Its books are the first
    # of `books`, with the same documents held out.
    start: str | None = None
    train_documents: Count | None = None  # from each file; all by default
    valid_documents: Count = 2000  # from each file
    most_words: Count = 400
    topics: topic_fitting.Config = field(default_factory=topic_fitting.Config)
    meaning: meaning_fitting.Config | None = None  # without it no word has a vector
    span_tagger: span_tagging.Config = field(default_factory=span_tagging.Config)
    trees: Forest = field(default_factory=Forest)
    leaning: Leaning = field(default_factory=Leaning)
    second: Second | None = None
    start_leaning: Leaning = field(default_factory=Leaning)


Report = Callable[[str], None]


def fit(config: Config, folder: Path, generator: Path | None, report: Report) -> None:
    """Fit a ranker in a folder; files that are there already, learnt in the same way, are kept.

    `generator` is the folder of an exported model, which becomes part of the ranker.
    """
    generate = None if generator is None else runtime.load(generator).decode
    if config.start is not None:
        _started(config.start)  # raises an error now if it is not a ranker
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MANIFEST).unlink(missing_ok=True)  # written last, when everything it describes exists
    _keep_generator(generator, folder / GENERATOR)
    learnt, held_out = _split(config)
    _learn_once(config, learnt, folder, report)
    manifest = _manifest(config, learnt, _take_start(config, folder))
    del learnt  # hundreds of megabytes
    knowledge = read_knowledge(folder, manifest)
    samples = [
        _samples(manifest, knowledge, _some_uncased(some[: book.for_trees]), generate)
        for book, some in zip(config.books, held_out, strict=True)
    ]
    manifest = msgspec.structs.replace(manifest, features=_names(samples))
    _fit_trees(config, folder, manifest, samples, report)
    familiar = _familiar(knowledge.book, _valid(config), config.most_words)
    manifest = msgspec.structs.replace(manifest, familiar=familiar)
    if config.second is not None:
        manifest = _fit_second(config.books, config.second, folder, manifest, report)
    _finish(config, folder, manifest, generate, report)


def refine(config: Config, folder: Path, report: Report) -> None:
    """Fit the second trees and the Platt scaling of a ranker again; nothing else is changed."""
    manifest = read_manifest(folder)
    if manifest.start is None or config.second is None:
        raise ConfigError(
            "second: to refine a ranker, it must have a start, and its settings a table [second]"
        )
    if len(config.books) != len(manifest.sizes):
        raise ConfigError(
            f"books: the ranker in {folder} has {len(manifest.sizes)}, not {len(config.books)}"
        )
    start = msgspec.structs.replace(manifest.start, second=None, leaning=config.start_leaning)
    manifest = msgspec.structs.replace(
        manifest, leaning=config.leaning, start=start, config=to_table(config)
    )
    manifest = _fit_second(config.books, config.second, folder, manifest, report)
    _finish(config, folder, manifest, None, report)


def _valid(config: Config) -> list[Document]:
    return [
        document for book in config.books for document in _read(book.valid, config.valid_documents)
    ]


def size(folder: Path) -> int:
    """The total size of a ranker's files in bytes."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _keep_generator(generator: Path | None, place: Path) -> None:
    if generator is not None and place.exists() and generator.samefile(place):
        return
    shutil.rmtree(place, ignore_errors=True)
    if generator is not None:
        shutil.copytree(generator, place)


def _split(config: Config) -> tuple[list[list[Document]], list[list[Document]]]:
    """Documents for counts and topics, book by book, and other documents for the trees."""
    learnt: list[list[Document]] = []
    held_out: list[list[Document]] = []
    for book in config.books:
        documents = _read(book.train, config.train_documents)
        if len(documents) < 2:
            raise DataError("has too few documents with keyphrases to learn from", book.train)
        for_trees = _held_out(book, documents)
        held_out.append([document for at, document in enumerate(documents) if for_trees[at]])
        learnt.append([document for at, document in enumerate(documents) if not for_trees[at]])
    return learnt, held_out


def _held_out(book: Book, documents: Sequence[Document]) -> list[bool]:
    """Which documents are for the trees only.

    Each site has its own way of tagging. Trees that saw only sites whose counts they know would
    rely on counts more than is right for texts from elsewhere: hold out whole sources.
    """
    size = min(book.held_out, len(documents) // 2)
    if not book.by_source:
        return [at < size for at in range(len(documents))]
    source_of = _sources(book.train)
    sources = Counter(source_of[str(document.id)] for document in documents)
    chosen: set[str] = set()
    for source, count in sorted(sources.items(), key=lambda item: (item[1], item[0])):
        if size <= 0:
            break
        chosen.add(source)
        size -= count
    return [source_of[str(document.id)] in chosen for document in documents]


class _Sourced(msgspec.Struct):
    id: str
    source: str


def _sources(path: str) -> dict[str, str]:
    """The source of each document of a JSON Lines file, by its id."""
    found = {}
    for number, line in read_lines(path):
        try:
            record = msgspec.json.decode(line, type=_Sourced)
        except msgspec.DecodeError as error:
            raise DataError(f"has no id and source: {error}", path, number) from None
        found[record.id] = record.source
    return found


def _some_uncased(documents: Sequence[Document]) -> list[Document]:
    return [
        document if number % UNCASED else _lower(document)
        for number, document in enumerate(documents)
    ]


def _lower(document: Document) -> Document:
    lower = {"title": document.title.lower(), "body": document.body.lower()}
    return msgspec.structs.replace(document, **lower)


def _read(path: str, most: int | None) -> list[Document]:
    return [document for document in islice(read_documents(path), most) if document.keyphrases]


class _Started(msgspec.Struct):
    """What is needed of the manifest of the ranker that a fit starts from."""

    sizes: list[Count]
    most_words: Count
    features: dict[Part, list[str]]
    platt: dict[Part, list[PlattScaling]]


def _started(start: str) -> _Started:
    path = Path(start) / MANIFEST
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Started)
    except (OSError, msgspec.DecodeError) as error:
        raise DataError(f"does not describe a ranker to start from: {error}", path) from None


def _take_start(config: Config, folder: Path) -> StartManifest | None:
    """Copy the trees of the ranker that a fit starts from, if there is one."""
    if config.start is None:
        return None
    started = _started(config.start)
    for part, name in START_TREES.items():
        shutil.copyfile(Path(config.start) / TREES[part], folder / name)
    return StartManifest(
        books=len(started.sizes),
        most_words=started.most_words,
        features=started.features,
        platt={part: started.platt[part] for part in TREES},
        leaning=config.start_leaning,
    )


def _manifest(
    config: Config, learnt: Sequence[Sequence[Document]], start: StartManifest | None
) -> RankerManifest:
    return RankerManifest(
        format=FORMAT,
        keywright=keywright.__version__,
        versions={name: importlib.metadata.version(name) for name in LIBRARIES},
        most_words=config.most_words,
        features={},
        platt={},
        sizes=[len(documents) for documents in learnt],
        familiar=0.0,
        config=to_table(config),
        files={},
        leaning=config.leaning,
        start=start,
    )


@dataclass(frozen=True)
class Step:
    """A part of a ranker that is learnt once: its files, and the settings it depends on."""

    name: str
    files: tuple[str, ...]
    settings: Any
    learn: Callable[[Learning], None]


@dataclass(frozen=True)
class Learning:
    """What the parts of a ranker are learnt from; `origin` identifies the part and all of this."""

    config: Config
    documents: list[list[Document]]  # by book
    folder: Path
    origin: str
    report: Report

    @property
    def every(self) -> list[Document]:
        return [document for documents in self.documents for document in documents]


def _steps(config: Config) -> list[Step]:
    vectors = config.meaning, [(book.sampled, book.repeats) for book in config.books]
    tagger = config.span_tagger
    return [
        Step("counts", (COUNTS,), None, _learn_counts),
        Step("topics", (TOPICS, LABELS), config.topics, _learn_topics),
        Step("meaning", (MEANING,), vectors, _learn_meaning),
        Step("span_tagger", (SPAN_TAGGER, SPAN_TAGGER_WORDS), tagger, _learn_span_tagger),
    ]


def _learn_once(config: Config, learnt: list[list[Document]], folder: Path, report: Report) -> None:
    """Learn everything except the trees, unless it was learnt from these documents in this way.

    Files learnt from other documents might know the gold phrases of the trees' documents.
    """
    documents = _digest(learnt)
    for step in _steps(config):
        note = folder / f"{step.name}.txt"  # a digest of what it was learnt from
        origin = _origin(documents, config, step)
        if _exists(note, origin, *step.files):
            report(f"{step.name}: exists already")
            continue
        if config.start is not None and step.name in TAKEN_OVER:
            for name in step.files:
                shutil.copyfile(Path(config.start) / name, folder / name)
        else:
            step.learn(Learning(config, learnt, folder, origin, report))
        _record(note, origin)
    (folder / SPAN_TAGGER_CHECKPOINT).unlink(missing_ok=True)


def _exists(note: Path, origin: str, *files: str) -> bool:
    complete = all((note.parent / name).is_file() for name in (note.name, *files))
    if complete and note.read_text("utf-8") == origin:
        return True
    note.unlink(missing_ok=True)  # written last, when the files that it is about exist
    return False


def _record(note: Path, origin: str) -> None:
    with atomic_write(note) as file:
        cast(IO[str], file).write(origin)


def _digest(learnt: Iterable[Iterable[Document]]) -> str:
    digest = blake2b()
    for book, documents in enumerate(learnt):
        for document in documents:
            digest.update(msgspec.json.encode((book, document)))
    return digest.hexdigest()


def _origin(documents: str, config: Config, step: Step) -> str:
    """A digest of everything that a part of the ranker depends on."""
    start = None if config.start is None else Path(config.start)
    settings: list[Any]
    if start is not None and step.name in TAKEN_OVER:
        settings = [sha256(start / name) for name in step.files]
    else:
        begun = None if start is None else sha256(start / COUNTS)
        settings = [config.most_words, _effective(step.settings), begun, documents]
    return blake2b(msgspec.json.encode([FORMAT, step.name, *settings])).hexdigest()


def _effective(settings: Any) -> Any:
    """Settings without those that do not change the result."""
    plain = msgspec.to_builtins(settings)
    if isinstance(plain, dict):
        return {key: value for key, value in plain.items() if key not in NO_EFFECT}
    return plain


def _learn_span_tagger(learning: Learning) -> None:
    config, folder, report = learning.config, learning.folder, learning.report
    corpus = span_tagging.TaggedCorpus(learning.every, config.most_words, config.span_tagger)
    report(f"span tagger: {len(corpus):,} documents, {len(corpus.known.stems):,} stems")
    checkpoint = folder / SPAN_TAGGER_CHECKPOINT
    model = span_tagging.train(corpus, config.span_tagger, checkpoint, learning.origin, report)
    some = range(0, len(corpus), max(1, len(corpus) // CHECKED))
    write_span_tagger(folder / SPAN_TAGGER, model, corpus.batch(list(some)).inputs)
    with atomic_write(folder / SPAN_TAGGER_WORDS, "wb") as file:
        cast(IO[bytes], file).write(msgspec.json.encode(corpus.known))


def _learn_meaning(learning: Learning) -> None:
    settings, books = learning.config.meaning, learning.config.books
    chosen = [
        (document, book.repeats)
        for book, documents in zip(books, learning.documents, strict=True)
        for document in documents[: book.sampled]
    ]
    vectors = (
        meaning_fitting.NOTHING
        if settings is None
        else meaning_fitting.distil(chosen, settings, learning.report)
    )
    _save(learning.folder / MEANING, **vectors)


def _learn_counts(learning: Learning) -> None:
    config, report = learning.config, learning.report
    known = _books_of_start(config)
    first = len(known.sizes)
    writer = phrasebook.Writer(len(config.books) - first)
    for number, documents in enumerate(learning.documents[first:]):
        for document in documents:
            view = RankerView.of(document, config.most_words)
            writer.add(number, view, gold_stems(document))
        report(f"{config.books[first + number].train}: {len(documents):,} documents counted")
    counted = phrasebook.joined(known, writer.book())
    _save(
        learning.folder / COUNTS,
        phrases=counted.phrases.keys,
        phrase_counts=counted.phrases.rows,
        words=counted.words.keys,
        word_counts=counted.words.rows,
    )
    report(f"{len(counted.phrases):,} phrases and {len(counted.words):,} words")


def _books_of_start(config: Config) -> Phrasebook:
    """The books of the ranker that a fit starts from, if any."""
    if config.start is None:
        return phrasebook.Writer(0).book()
    return read_phrasebook(Path(config.start) / COUNTS, _started(config.start).sizes)


def _learn_topics(learning: Learning) -> None:
    config, folder, every = learning.config, learning.folder, learning.every
    terms = [RankerView.of(document, config.most_words).terms for document in every]
    topics = topic_fitting.learn(every, terms, config.topics, learning.report)
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
    """The candidates of one document, and its gold phrases by their stems."""

    document: Document
    present: CandidateFeatures
    absent: CandidateFeatures
    gold: frozenset[tuple[str, ...]]

    def candidates(self, part: Part) -> CandidateFeatures:
        return self.present if part == "present" else self.absent

    @property
    def at_home(self) -> bool:
        """Whether the trees of the start suffice."""
        return self.present.log_odds is not None


def _samples(
    manifest: RankerManifest,
    knowledge: Knowledge,
    documents: Sequence[Document],
    generate: PhraseGenerator | None,
) -> list[Sample]:
    found = []
    # Documents of similar length are decoded together, to reduce padding.
    order = sorted(documents, key=lambda document: len(document.text))
    for start in range(0, len(order), BATCH):
        batch = order[start : start + BATCH]
        every = judge(batch, manifest, knowledge, generated(generate, batch))
        for document, judged in zip(batch, every, strict=True):
            gold = frozenset(gold_stems(document))
            present = judged.present(max_scored(judged))
            found.append(Sample(document, present, judged.absent(), gold))
    return found


def _names(samples: Sequence[Sequence[Sample]]) -> dict[Part, list[str]]:
    """The features of documents that the trees judge."""
    for sample in chain.from_iterable(samples):
        if not sample.at_home:
            return {part: list(sample.candidates(part).columns) for part in TREES}
    raise KeywrightError("all documents for the trees resemble those of the start")


def _fit_trees(
    config: Config,
    folder: Path,
    manifest: RankerManifest,
    samples: Sequence[Sequence[Sample]],
    report: Report,
) -> None:
    """Fit the trees; `samples` are those of each book."""
    away = [[sample for sample in of_book if not sample.at_home] for of_book in samples]
    report(f"{sum(map(len, away)):,} of {sum(map(len, samples)):,} documents for the trees")
    weights = [book.weight for book in config.books]
    for part, name in TREES.items():
        names = manifest.features[part]
        # Samples are sorted by length, so that both parts have documents of all lengths.
        stopping = _weighted([of_book[::STOPPING] for of_book in away], weights, part, names)
        train = _weighted([_without(of_book) for of_book in away], weights, part, names)
        correct = train.correct
        report(f"{part}: {len(correct):,} candidates to learn from, {correct.mean():.2%} correct")
        fit_trees(folder / name, train, stopping, config.trees)


def _fit_second(
    books: Sequence[Book], second: Second, folder: Path, manifest: RankerManifest, report: Report
) -> RankerManifest:
    """Fit more trees for documents that are judged by the start alone."""
    start = manifest.start
    if start is None:
        raise ConfigError("second: a ranker without a start has no second trees")
    first = books[: start.books]
    if any(book.by_source or book.held_out < second.documents for book in first):
        raise ConfigError(
            "second.documents: must be at most held_out of the books of the start, which must be "
            "held out from the beginning of the file"
        )
    knowledge = read_knowledge(folder, manifest)
    samples = [_at_home(manifest, knowledge, _read(book.train, second.documents)) for book in first]
    names = next((list(sample.present.columns) for book in samples for sample in book), [])
    stopping = _weighted(
        [book[::STOPPING] for book in samples], [1.0] * len(first), "present", names
    )
    train = _weighted(list(map(_without, samples)), [1.0] * len(first), "present", names)
    report(f"second trees: {sum(map(len, samples)):,} documents, {len(names)} features")
    fit_trees(folder / SECOND_TREES, train, stopping, second.trees)
    start = msgspec.structs.replace(start, second=names)
    return msgspec.structs.replace(manifest, start=start)


def _at_home(
    manifest: RankerManifest, knowledge: Knowledge, documents: Sequence[Document]
) -> list[Sample]:
    """Documents that are judged by the start alone."""
    every = _samples(manifest, knowledge, documents, None)
    return [sample for sample in every if sample.at_home]


def _without(samples: Sequence[Sample]) -> list[Sample]:
    """The samples that are not used for early stopping."""
    return [sample for number, sample in enumerate(samples) if number % STOPPING]


def _weighted(
    samples: Sequence[Sequence[Sample]], weights: Sequence[float], part: Part, names: list[str]
) -> LabelledRows:
    """The rows of all books, each book with its weight; the mean weight of a row is 1."""
    every = [sample for of_book in samples for sample in of_book]
    features = np.concatenate([sample.candidates(part).matrix(names) for sample in every])
    correct = _correct(every, part)
    sizes = [sum(len(sample.candidates(part).phrases) for sample in book) for book in samples]
    each = np.repeat(np.array(weights) / np.maximum(sizes, 1), sizes)
    return LabelledRows(features, correct, each * len(each) / each.sum())


def _correct(samples: Sequence[Sample], part: Part) -> NDArray[np.bool_]:
    """Which of all candidates are correct: some, but not all."""
    correct = np.array(
        [phrase in sample.gold for sample in samples for phrase in sample.candidates(part).phrases],
        dtype=np.bool_,
    )
    if not correct.any() or correct.all():
        raise KeywrightError(
            f"{correct.sum():,} of {len(correct):,} {part} candidates are keyphrases of the "
            f"{len(samples):,} documents they come from, so that nothing can be learnt; give more "
            "documents, and check their keyphrases"
        )
    return correct


def _familiar(book: Phrasebook, documents: Sequence[Document], most_words: int) -> float:
    """What all documents except the least familiar ones have."""
    found = [book.familiarity(RankerView.of(document, most_words)) for document in documents]
    return float(np.percentile(found, LEAST_FAMILIAR))


def _finish(
    config: Config,
    folder: Path,
    manifest: RankerManifest,
    generate: PhraseGenerator | None,
    report: Report,
) -> None:
    """Scale probabilities on validation documents, report the scores, write the manifest."""
    knowledge = read_knowledge(folder, manifest)
    samples = _samples(manifest, knowledge, _valid(config), generate)
    if config.second is not None and manifest.start is not None:
        scaling = _scale_home(config.books, config.second, folder, manifest, knowledge)
        manifest = msgspec.structs.replace(manifest, start=scaling)
    platt: dict[Part, list[PlattScaling]] = {}
    for part in TREES:
        platt[part] = [IDENTITY] * len(manifest.sizes)
        manifest = msgspec.structs.replace(manifest, platt=platt)
        scorer = CandidateScorer.of(folder, manifest, part, None)
        away = [sample for sample in samples if not sample.at_home]
        platt[part] = _fit_scaling(scorer, away, part, len(manifest.sizes))
        report(f"{part}: {_scores(samples, part, folder, manifest)} on validation documents")
    files = {name: sha256(folder / name) for name in manifest.file_names}
    complete = msgspec.structs.replace(manifest, files=files)
    with atomic_write(folder / MANIFEST, "wb") as file:
        cast(IO[bytes], file).write(msgspec.json.format(msgspec.json.encode(complete)))


def _scale_home(
    books: Sequence[Book],
    second: Second,
    folder: Path,
    manifest: RankerManifest,
    knowledge: Knowledge,
) -> StartManifest:
    """The start with Platt scaling of its present phrases, which second trees have changed."""
    start = manifest.start
    assert start is not None
    valid = [
        document
        for book in books[: start.books]
        for document in _read(book.valid, second.valid_documents)
    ]
    identity = {part: [IDENTITY] * len(manifest.sizes) for part in TREES}
    scorer = CandidateScorer.of(
        folder, msgspec.structs.replace(manifest, platt=identity), "present", None
    )
    found = _fit_scaling(scorer, _at_home(manifest, knowledge, valid), "present", start.books)
    return msgspec.structs.replace(start, platt={**start.platt, "present": found})


def _fit_scaling(
    scorer: CandidateScorer, samples: Sequence[Sample], part: Part, genres: int
) -> list[PlattScaling]:
    """Platt scaling for the documents of each genre, or that of all if a genre has too few."""
    odds = [scorer.log_odds(sample.candidates(part)) for sample in samples]
    correct = np.split(_correct(samples, part), np.cumsum([len(of_one) for of_one in odds])[:-1])
    resembled = np.array([sample.present.genre for sample in samples])

    def scaling(chosen: Iterable[int]) -> PlattScaling:
        rows = list(chosen)
        return _fit_platt(
            np.concatenate([odds[row] for row in rows]),
            np.concatenate([correct[row] for row in rows]),
        )

    overall = scaling(range(len(samples)))
    found = []
    for genre in range(genres):
        rows = np.flatnonzero(resembled == genre)
        hits = sum(int(correct[row].sum()) for row in rows)
        found.append(scaling(rows) if hits >= FEWEST_HITS else overall)
    return found


def _fit_platt(log_odds: NDArray[np.float64], correct: NDArray[np.bool_]) -> PlattScaling:
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression(C=1e6).fit(log_odds.reshape(-1, 1), correct)
    return float(fitted.coef_[0, 0]), float(fitted.intercept_[0])


def _scores(samples: Sequence[Sample], part: Part, folder: Path, manifest: RankerManifest) -> str:
    scorer = CandidateScorer.of(folder, manifest, part, None)
    predictions = [
        Prediction(phrases=tuple(scorer.scored(sample.candidates(part)))).recommended
        for sample in samples
    ]
    documents = [sample.document for sample in samples]
    names = [f"{part}.F1@5", f"{part}.F1@M"]
    scores = evaluate(documents, predictions, metrics=names, match="line").scores
    return ", ".join(f"{name} {100 * score:.2f}" for name, score in scores.items())
