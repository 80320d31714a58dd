"""What is wrong with a corpus: bad lines, repeated documents, missing gold, leaks between files.

Two documents of different files are a leak if their titles have the same letters, or if at least
half of the 8-word shingles of one body occur in the other. Only letters are compared, because
corpora differ in how they write digits, hyphens and capitals. The shingles of the smaller side are
kept in memory as sorted 64-bit hashes (12 bytes each); the larger side is streamed.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keywright.data.documents import numbered_documents
from keywright.errors import DataError
from keywright.types import Document

SHINGLE = 8
SHARE = 0.5
# `<digit>`, and what StackExchange writes instead: placeholders are not compared.
_WORD = re.compile(r"<\w+>|\bDIGIT\b|([^\W\d_]+)")
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # odd, close to 2**64 / golden ratio

Hashes = npt.NDArray[np.uint64]
Watch = Callable[[Iterable[tuple[int, Document]], str], Iterable[tuple[int, Document]]]
"""Passes documents through and may show progress; the string describes the work."""


class Place(NamedTuple):
    """A document of a file; `line` is its number if the file does not consist of lines."""

    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


class Repeat(NamedTuple):
    """A document that occurs earlier in its file, with the same text, title or id (`what`)."""

    line: int
    earlier: int
    what: str


class Leak(NamedTuple):
    """One document in two files; `share` is the share of shingles that they have in common."""

    place: Place
    other: Place
    same_title: bool
    share: float


@dataclass
class FileReport:
    path: str
    documents: int = 0
    malformed: list[str] = field(default_factory=list)
    without_gold: list[int] = field(default_factory=list)
    empty_gold: list[int] = field(default_factory=list)
    repeats: list[Repeat] = field(default_factory=list)


@dataclass
class Report:
    files: list[FileReport]
    leaks: list[Leak]

    @property
    def clean(self) -> bool:
        return not self.leaks and not any(
            file.malformed or file.without_gold or file.empty_gold or file.repeats
            for file in self.files
        )


def check(
    paths: Sequence[str | Path],
    against: Sequence[str | Path] = (),
    *,
    format: str | None = None,
    watch: Watch = lambda documents, _: documents,
) -> Report:
    """Check each file, and look for leaks between all of them, or between them and `against`."""
    files = [check_file(path, format=format, watch=watch) for path in paths]
    others = [check_file(path, format=format, watch=watch) for path in against]
    if others:
        indexed, streamed = sorted((others, files), key=_documents)
    else:  # all except the largest are indexed, and all of them are streamed
        indexed, streamed = sorted(files, key=lambda file: file.documents)[:-1], files
    index = Index(_placed(indexed, format, watch, "Indexing"))
    order = {file.path: number for number, file in enumerate([*files, *others])}
    leaks = set()
    for place, document in _placed(streamed, format, watch, "Comparing") if indexed else ():
        for other, same_title, share in index.similar(document):
            if other.path != place.path:
                first, second = sorted((place, other), key=lambda found: order[found.path])
                leaks.add(Leak(first, second, same_title, share))
    return Report([*files, *others], sorted(leaks))


def check_file(
    path: str | Path,
    *,
    format: str | None = None,
    watch: Watch = lambda documents, _: documents,
) -> FileReport:
    """Bad lines, missing gold and repeats in one file."""
    report = FileReport(str(path))
    seen: dict[tuple[str, int], int] = {}

    def note(error: DataError) -> None:
        report.malformed.append(str(error))

    documents = numbered_documents(path, format=format, bad=note)
    for line, document in watch(documents, f"Checking {path}"):
        report.documents += 1
        if document.keyphrases is None:
            report.without_gold.append(line)
        elif not any(phrase.strip() for phrase in document.keyphrases):
            report.empty_gold.append(line)
        repeats = [
            Repeat(line, earlier, what)
            for what, key in _identities(document)
            if (earlier := seen.setdefault((what, hash(key)), line)) != line
        ]
        report.repeats.extend(repeats[:1])
    return report


def _identities(document: Document) -> Iterator[tuple[str, str]]:
    """What identifies a document, the most specific first."""
    title, body = letters(document.title), letters(document.body)
    if title or body:
        yield "text", f"{title} {body}"
    if title:
        yield "title", title
    if document.id is not None:
        yield "id", document.id


def letters(text: str) -> str:
    """The letters of a text in lower case, to compare titles."""
    return "".join(_letter_words(text))


def _letter_words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text) if word]


def shingles(text: str) -> Hashes:
    """Sorted hashes of the distinct runs of eight words of a text; valid in this process only."""
    words = _letter_words(text)
    count = len(words) - SHINGLE + 1
    if count < 1:
        return np.empty(0, np.uint64)
    hashes = np.fromiter(map(hash, words), np.int64, len(words)).view(np.uint64)
    total = np.zeros(count, np.uint64)
    for offset in range(SHINGLE):  # a polynomial in the multiplier, modulo 2**64
        total = total * _MULTIPLIER + hashes[offset : offset + count]
    return np.unique(total)


class Index:
    """The documents of some files by their titles and shingles."""

    def __init__(self, documents: Iterable[tuple[Place, Document]]):
        self.places: list[Place] = []
        self.titles: dict[int, list[int]] = {}
        self.sizes = array("i")
        parts: list[Hashes] = []
        for owner, (place, document) in enumerate(documents):
            self.places.append(place)
            if title := letters(document.title):
                self.titles.setdefault(hash(title), []).append(owner)
            parts.append(shingles(document.body))
            self.sizes.append(len(parts[-1]))
        hashes = np.concatenate(parts) if parts else np.empty(0, np.uint64)
        owners = np.repeat(np.arange(len(parts), dtype=np.int32), np.asarray(self.sizes, np.int64))
        order = np.argsort(hashes)
        self.hashes, self.owners = hashes[order], owners[order]

    def similar(self, document: Document) -> Iterator[tuple[Place, bool, float]]:
        """Place, whether the title is the same, and share of shingles of all similar documents."""
        mine = shingles(document.body)
        shared = self._shared(mine)
        same_title = set(self.titles.get(hash(letters(document.title)), ()))
        for owner in sorted(same_title | shared.keys()):
            smaller = min(len(mine), self.sizes[owner])
            share = shared.get(owner, 0) / smaller if smaller else 0.0
            if owner in same_title or share >= SHARE:
                yield self.places[owner], owner in same_title, share

    def _shared(self, mine: Hashes) -> dict[int, int]:
        """The number of common shingles, for each document that has any."""
        left = np.searchsorted(self.hashes, mine, "left")
        right = np.searchsorted(self.hashes, mine, "right")
        found = np.flatnonzero(right > left)
        if not len(found):
            return {}
        runs = [self.owners[left[i] : right[i]] for i in found]
        owners, counts = np.unique(np.concatenate(runs), return_counts=True)
        return dict(zip(owners.tolist(), counts.tolist(), strict=True))


def _documents(files: Sequence[FileReport]) -> int:
    return sum(file.documents for file in files)


def _placed(
    files: Iterable[FileReport], format: str | None, watch: Watch, doing: str
) -> Iterator[tuple[Place, Document]]:
    for file in files:
        # Bad lines have already been reported by `check_file`.
        documents = numbered_documents(file.path, format=format, bad=lambda _: None)
        for line, document in watch(documents, f"{doing} {file.path}"):
            yield Place(file.path, line), document
