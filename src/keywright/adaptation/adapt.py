"""Adapts a ranker: features, second stage, cross-validation, and the folder of the result.

Documents are divided into folds. What a collection knows about the documents of a fold comes from
the other folds, as will be the case for new documents; the second stage is fitted to that. For the
cross-validated scores, the second stage that scores a fold is fitted without it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any, cast

import msgspec
import numpy as np

import keywright
from keywright.adaptation.collect import Seen, collect
from keywright.adaptation.judge import Verdict, judge
from keywright.adaptation.logistic import fit
from keywright.errors import DataError, KeywrightError
from keywright.files import atomic_write, drafted, exclusive, sha256
from keywright.predictor import load, open_ranker, ranker_folder
from keywright.progress import progress
from keywright.ranking.adapted import (
    BASE,
    COLLECTION,
    FILES,
    FORMAT,
    LABELS,
    MANIFEST,
    AdaptedManifest,
    Candidates,
    Described,
    Weights,
)
from keywright.ranking.collection import Collection
from keywright.ranking.features import Judged
from keywright.ranking.model import Label, Ranker
from keywright.ranking.phrasebook import gold_stems
from keywright.text.reading import Stems
from keywright.types import Document, Prediction

FOLDS = 10
FEWEST = 100  # documents: fewer teach nothing that could be shown
MOST = 20_000  # documents: more would only take memory
BATCH = 32

Report = Callable[[str], None]
Parts = tuple[Candidates, Candidates]
"""The present and the absent candidates of a document."""


def adapt(
    documents: Iterable[Document], output: str | Path, model: str | Path, report: Report
) -> Verdict:
    """Adapt a ranker to documents with keyphrases, and write the new folder `output`.

    `model` is "default" or the folder of a ranker, which stays as it is. `report` is called with
    lines about the progress.
    """
    output = Path(output)
    folder = ranker_folder(model)
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise DataError("exists and is not an empty folder; name another", output)
    chosen = _usable(documents, report)
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"cannot be created: {error.strerror}", output) from None
    with exclusive(output), drafted(output) as draft:
        shutil.copytree(folder, draft / BASE)
        fitted = _Fitting(open_ranker(folder), chosen).fit(report)
        # Not filled up for readers: the adapted model recommends the number that scores best, too.
        shipped = load(model, settings=["fill=false"])
        before = list(shipped.predict(progress(chosen, "Scoring before", len(chosen))))
        verdict = judge(chosen, before, fitted.after)
        _write(draft, fitted, len(chosen), verdict)
    return verdict


def _usable(documents: Iterable[Document], report: Report) -> list[Document]:
    """The documents to learn from: those with keyphrases, each text once."""
    given = 0
    found: dict[bytes, Document] = {}
    for document in documents:
        given += 1
        if gold_stems(document) and document.text.strip():
            found.setdefault(_digest(document), document)
    if not found:
        raise KeywrightError(
            f"none of {given:,} documents has keyphrases; adapting needs documents with the "
            "keyphrases that people gave them"
        )
    if len(found) < FEWEST:
        raise KeywrightError(
            f"{len(found):,} of {given:,} documents have keyphrases and different texts; adapting "
            f"needs at least {FEWEST}, better 200 or more"
        )
    chosen = [found[digest] for digest in sorted(found)[:MOST]]
    if len(chosen) < given:
        report(
            f"{given - len(chosen):,} of {given:,} documents are not used: without keyphrases, "
            f"repeated, or more than {MOST:,}"
        )
    return chosen


def _digest(document: Document) -> bytes:
    return blake2b(document.text.encode(), digest_size=16).digest()


@dataclass(frozen=True)
class _Fitted:
    collection: Collection
    present: Weights
    absent: Weights
    after: list[Prediction]  # of cross-validation


class _Fitting:
    """Documents in the order of their digests, so that folds are random but always the same."""

    def __init__(self, ranker: Ranker, documents: Sequence[Document]):
        self._ranker, self._documents = ranker, documents
        self._gold = [frozenset(gold_stems(document)) for document in documents]

    def fit(self, report: Report) -> _Fitted:
        seen = [
            Seen.of(document, judged)
            for document, judged in self._judged(self._documents, "Reading documents")
        ]
        parts = self._described(seen)
        everything = collect(seen)
        report(
            f"{len(seen):,} documents with {len(everything.labels):,} different keyphrases, "
            f"{everything.counts.sum() / len(seen):.1f} per document"
        )
        every = range(len(seen))
        present, absent = (self._weights(parts, part, every, None) for part in range(2))
        after = self._cross_validated(parts, (present, absent))
        return _Fitted(everything, present, absent, after)

    def _others(self, fold: int) -> list[int]:
        """The documents that are not in a fold."""
        return [at for at in range(len(self._documents)) if at % FOLDS != fold]

    def _judged(
        self, documents: Sequence[Document], what: str
    ) -> Iterator[tuple[Document, Judged]]:
        starts = range(0, len(documents), BATCH)
        for start in progress(starts, what, len(starts)):
            batch = documents[start : start + BATCH]
            yield from zip(batch, self._ranker.judged(batch), strict=True)

    def _described(self, seen: Sequence[Seen]) -> list[Parts]:
        """The candidates of each document, described by the other folds."""
        parts: dict[int, Parts] = {}
        for fold in range(FOLDS):
            others = collect([seen[at] for at in self._others(fold)])
            members = range(fold, len(seen), FOLDS)
            documents = [self._documents[at] for at in members]
            what = f"Describing candidates, {fold + 1} of {FOLDS}"
            for at, (_, judged) in zip(members, self._judged(documents, what), strict=True):
                described = Described(self._ranker, judged)
                near = others.near(judged.view.terms, judged.topic.vector)
                parts[at] = described.present(others, near), described.absent(others, near)
        return [parts[at] for at in range(len(seen))]

    def _weights(
        self, parts: Sequence[Parts], part: int, chosen: Sequence[int], near: Weights | None
    ) -> Weights:
        rows = np.concatenate([parts[at][part].rows for at in chosen])
        correct = [phrase in self._gold[at] for at in chosen for phrase in parts[at][part].phrases]
        return fit(rows, np.array(correct, np.bool_), near)

    def _cross_validated(
        self, parts: Sequence[Parts], near: tuple[Weights, Weights]
    ) -> list[Prediction]:
        found: dict[int, Prediction] = {}
        for fold in range(FOLDS):
            others = self._others(fold)
            present, absent = (self._weights(parts, part, others, near[part]) for part in range(2))
            for at in range(fold, len(parts), FOLDS):
                phrases = (
                    *parts[at][0].predicted(present, None),
                    *parts[at][1].predicted(absent, None),
                )
                found[at] = Prediction(phrases=phrases).recommended
        return [found[at] for at in range(len(parts))]


def _write(draft: Path, fitted: _Fitted, documents: int, verdict: Verdict) -> None:
    collection = fitted.collection
    with atomic_write(draft / COLLECTION, "wb") as file:
        np.savez_compressed(cast(IO[bytes], file), **cast(Any, collection.arrays()))
    pairs: Iterable[tuple[str, Stems]] = zip(collection.labels, collection.label_stems, strict=True)
    _write_json(draft / LABELS, [Label(*pair) for pair in pairs])
    manifest = AdaptedManifest(
        format=FORMAT,
        keywright=keywright.__version__,
        documents=documents,
        present=fitted.present,
        absent=fitted.absent,
        scores=verdict.table(),
        files={name: sha256(draft / name) for name in FILES},
    )
    _write_json(draft / MANIFEST, manifest)  # last, when everything that it describes exists


def _write_json(path: Path, value: object) -> None:
    with atomic_write(path, "wb") as file:
        cast(IO[bytes], file).write(msgspec.json.format(msgspec.json.encode(value), indent=1))
