"""Similar documents: an index of the words of training documents, with their keyphrases.

The similarity of two documents is the Jaccard coefficient of their sets of words, without
stopwords. An index is saved as one JSON object per document, and loading it runs no code.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import IO, NamedTuple, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from keywright.errors import DataError
from keywright.files import NOT_JSON, atomic_write, read_lines
from keywright.text.candidates import STOPWORDS, is_word
from keywright.text.tokenise import document_words, words
from keywright.types import Document


class Entry(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What an index keeps of a document."""

    title: str
    words: str  # the distinct ones, without stopwords, separated by blanks
    keyphrases: tuple[str, ...]
    id: str | None = None


class Similar(NamedTuple):
    """A retrieved document: its similarity, greater than 0, and its keyphrases."""

    score: float
    keyphrases: tuple[str, ...]


def entries(documents: Iterable[Document]) -> Iterator[Entry]:
    """The entries of the documents that have keyphrases."""
    for document in documents:
        split = (words(text, document.tokenised) for text in document.keyphrases or ())
        phrases = dict.fromkeys(" ".join(phrase) for phrase in split if phrase)
        if phrases:
            title, content = _title_and_words(document)
            yield Entry(title, " ".join(content), tuple(phrases), document.id)


def save(documents: Iterable[Document], path: Path) -> None:
    """Write an index of the documents that have keyphrases."""
    encode = msgspec.json.Encoder().encode
    count = 0
    with atomic_write(path, "wb") as file:
        for found in entries(documents):
            cast(IO[bytes], file).write(encode(found) + b"\n")
            count += 1
        _require_any(count, path)


def load(path: Path) -> Index:
    """The index that `save` wrote."""
    return Index(_read(path), path)


def _read(path: Path) -> Iterator[Entry]:
    decode = msgspec.json.Decoder(Entry).decode
    for number, line in read_lines(path):
        try:
            yield decode(line)
        except NOT_JSON as error:
            raise DataError(
                f"is not an entry of a retrieval index: {error}", path, number
            ) from None


class Index:
    """An inverted index: for every word the documents that contain it."""

    def __init__(self, found: Iterable[Entry], path: Path | None = None):
        """`path` is where the entries come from, for errors."""
        self.keyphrases: list[tuple[str, ...]] = []
        self._titles: dict[str, list[int]] = {}
        self._ids: dict[str, list[int]] = {}
        self._numbers: dict[str, int] = {}
        rows = [self._add(entry) for entry in found]
        _require_any(len(rows), path)
        self._sizes = np.array([len(row) for row in rows])
        numbers = np.concatenate(rows)
        places = np.repeat(np.arange(len(rows), dtype=np.int32), self._sizes)
        self._places = places[np.argsort(numbers, kind="stable")]
        self._ends = np.cumsum(np.bincount(numbers, minlength=len(self._numbers)))

    def __len__(self) -> int:
        return len(self.keyphrases)

    def _add(self, entry: Entry) -> NDArray[np.int32]:
        place = len(self.keyphrases)
        self.keyphrases.append(entry.keyphrases)
        if entry.title:
            self._titles.setdefault(entry.title, []).append(place)
        if entry.id is not None:
            self._ids.setdefault(entry.id, []).append(place)
        numbers = [self._numbers.setdefault(w, len(self._numbers)) for w in entry.words.split()]
        return np.array(numbers, dtype=np.int32)

    def similar(self, document: Document, count: int, same: float) -> list[Similar]:
        """The `count` most similar documents, best first, and of equal ones the earlier first.

        A document must not find itself among the training documents, nor another copy of itself:
        those that share its title or id, or are similar to a degree of at least `same`, are left
        out.
        """
        title, content = _title_and_words(document)
        scores = self._scores(content)
        scores[scores >= same] = 0.0
        scores[self._titles.get(title, [])] = 0.0
        if document.id is not None:
            scores[self._ids.get(document.id, [])] = 0.0
        found = []
        for _ in range(min(count, len(self))):
            best = int(scores.argmax())
            if not scores[best]:
                break
            found.append(Similar(float(scores[best]), self.keyphrases[best]))
            scores[best] = 0.0
        return found

    def _scores(self, content: Collection[str]) -> NDArray[np.float64]:
        """The Jaccard coefficient of a document's words and those of each one of the index."""
        known = [self._numbers[word] for word in content if word in self._numbers]
        if not known:
            return np.zeros(len(self))
        places = [self._places[self._start(number) : self._ends[number]] for number in known]
        common = np.bincount(np.concatenate(places), minlength=len(self))
        scores: NDArray[np.float64] = common / (self._sizes + len(content) - common)
        return scores

    def _start(self, number: int) -> int:
        return int(self._ends[number - 1]) if number else 0


def _require_any(count: int, path: Path | None) -> None:
    if not count:
        raise DataError(
            "a retrieval index without documents; train with documents that have keyphrases", path
        )


def _title_and_words(document: Document) -> tuple[str, Collection[str]]:
    """The normalised title, and the distinct words without stopwords in their order."""
    title, body = document_words(document)
    kept = (word for word in (*title, *body) if is_word(word) and word not in STOPWORDS)
    return " ".join(title), dict.fromkeys(kept)
