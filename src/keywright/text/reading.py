"""`Reading`: the view of a document that is shared by everything that looks for phrases in it.

A document is tokenised once. Its words, their places in the text and their stems follow from that
one pass, and recent readings are kept, so that cutting a document into windows, ranking candidates
and pointing at the places of keyphrases do not repeat the work.

There are two kinds of stems. `stems` are those of the normalised words, in which every number is
`<digit>`: models and protocols compare these. `literal` stems keep numbers as they are written and
resolve compatibility characters: readers do not take "type 1" for "type 2". Both come from the same
tokens, except that a text that was tokenised in advance is split at blanks for the former, and its
words are segmented for the latter.
"""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_left, bisect_right
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import eq

from keywright.text.presence import padded
from keywright.text.stem import stem, stems
from keywright.text.tokenise import DIGIT, normal, plain, spans, tokens
from keywright.types import Document

Stems = tuple[str, ...]
Characters = tuple[int, int]
"""The characters [start, end) of a text."""

BORDER = "."  # a word between title and body, so that no phrase crosses it
# Characters of all readings that are kept, each of which takes 15 to 45 bytes of memory. This is
# enough for the abstracts that a predictor collects before it makes its batches.
MOST_CHARACTERS = 1_000_000


@dataclass(frozen=True)
class Spans:
    """Where the tokens of a text are: token i is the characters [starts[i], ends[i])."""

    starts: array[int]
    ends: array[int]

    @classmethod
    def of(cls, places: Iterable[Characters]) -> Spans:
        pairs = list(places)
        return cls(array("I", [start for start, _ in pairs]), array("I", [end for _, end in pairs]))

    def __len__(self) -> int:
        return len(self.starts)

    def between(self, start: int, end: int) -> range:
        """The tokens that have a character in [start, end)."""
        return range(bisect_right(self.ends, start), bisect_left(self.starts, end))

    def part(self, tokens: range, shift: int) -> Spans:
        """Some of the tokens, moved by `shift` characters."""
        chosen = slice(tokens.start, tokens.stop)
        return Spans(
            array("I", [start + shift for start in self.starts[chosen]]),
            array("I", [end + shift for end in self.ends[chosen]]),
        )

    def __add__(self, other: Spans) -> Spans:
        return Spans(self.starts + other.starts, self.ends + other.ends)


class StemIndex:
    """Stems in the order of a text, in which phrases are found by way of their rarest stem.

    With `any_number`, `<digit>` in a phrase matches every number: it is what models that know no
    numbers write for any of them.
    """

    def __init__(self, stems: Sequence[str], *, any_number: bool = False) -> None:
        self.stems = stems
        self._same = _same_or_number if any_number else eq
        self._positions: dict[str, list[int]] = defaultdict(list)
        for at, word in enumerate(stems):
            self._positions[word].append(at)
            if any_number and word.isdecimal():
                self._positions[DIGIT].append(at)

    def find(self, phrase: Sequence[str]) -> Iterator[int]:
        """The positions at which a phrase begins. An empty phrase occurs nowhere."""
        if not phrase:
            return
        positions = [self._positions.get(word, []) for word in phrase]
        rarest = min(range(len(phrase)), key=lambda i: len(positions[i]))
        for at in positions[rarest]:
            first = at - rarest
            here = self.stems[max(first, 0) : first + len(phrase)]
            if len(here) == len(phrase) and all(map(self._same, phrase, here)):
                yield first


def _same_or_number(word: str, other: str) -> bool:
    return word == other or (word == DIGIT and other.isdecimal())


@dataclass(frozen=True, eq=False)
class Reading:
    """The words of a document, where they are, and their stems.

    `text` is title, line break and body, or the body alone where there is no title. `words` are
    normalised, or as they are in a text that was tokenised in advance; `spans` are their places.
    """

    text: str
    tokenised: bool
    title_end: int  # characters of the title
    title_words: int
    words: list[str]
    spans: Spans

    @classmethod
    def of(cls, document: Document) -> Reading:
        """The reading of a document, which is made once as long as it is remembered."""
        found = _RECENT.get(document)
        if found is None:
            found = _read(document)
            _RECENT.put(document, found)
        return found

    @cached_property
    def stems(self) -> list[str]:
        return stems(self.words)

    @cached_property
    def padded(self) -> str:
        """The stems between blanks, in which a run of stems is a substring."""
        return padded(self.stems)

    @cached_property
    def index(self) -> StemIndex:
        return StemIndex(self.stems)

    @cached_property
    def literal_spans(self) -> Spans:
        return Spans.of(spans(self.text)) if self.tokenised else self.spans

    @cached_property
    def literal(self) -> StemIndex:
        """The literal stems, at `literal_spans`."""
        places = zip(self.literal_spans.starts, self.literal_spans.ends, strict=True)
        stemmed = [_literal_stem(self.text[start:end]) for start, end in places]
        return StemIndex(stemmed, any_number=True)

    @property
    def body_start(self) -> int:
        """The character at which the body begins."""
        return self.title_end + 1 if self.title_end else 0

    def bordered(self) -> tuple[list[str], list[str]]:
        """All words and their stems, with `BORDER` between those of title and body."""
        title = self.title_words
        return (
            [*self.words[:title], BORDER, *self.words[title:]],
            [*self.stems[:title], BORDER, *self.stems[title:]],
        )

    def has(self, phrase: Stems, most_words: int) -> bool:
        """Whether stems occur within the first words, and not across the title's end."""
        return any(
            at + len(phrase) <= most_words and not at < self.title_words < at + len(phrase)
            for at in self.index.find(phrase)
        )

    def occurrences(self, phrase: Sequence[str]) -> Iterator[Characters]:
        """Where stems of normalised words occur, also across the title's end."""
        for at in self.index.find(phrase):
            yield self.spans.starts[at], self.spans.ends[at + len(phrase) - 1]

    def places(self, phrase: Stems) -> list[Characters]:
        """Where literal stems occur, never across the title's end.

        If `<digit>` matches several numbers, these are the places of the most frequent one.
        """
        found: dict[Stems, list[Characters]] = {}
        for at in self.literal.find(phrase):
            end = at + len(phrase)
            place = self.literal_spans.starts[at], self.literal_spans.ends[end - 1]
            if not place[0] < self.title_end < place[1]:
                found.setdefault(tuple(self.literal.stems[at:end]), []).append(place)
        return max(found.values(), key=len, default=[])

    def remember(self, window: Document, start: int, end: int) -> None:
        """Keep the reading of a document whose body is the characters [start, end) of this text.

        Its title is this document's title, or empty. Where a cut goes through a word, nothing is
        kept: the window will be read by itself.
        """
        body = self.spans.between(start, end)
        if body and (self.spans.starts[body[0]] < start or self.spans.ends[body[-1]] > end):
            return
        title = range(self.title_words if window.title else 0)
        body_start = len(window.title) + 1 if window.title else 0
        part = Reading(
            text=window.text,
            tokenised=self.tokenised,
            title_end=len(window.title),
            title_words=len(title),
            words=self.words[: len(title)] + self.words[body.start : body.stop],
            spans=self.spans.part(title, 0) + self.spans.part(body, body_start - start),
        )
        _RECENT.put(window, part)


def _read(document: Document) -> Reading:
    text, tokenised = document.text, document.tokenised
    found = Spans.of(spans(text, tokenised))
    tokens = [text[start:end] for start, end in zip(found.starts, found.ends, strict=True)]
    return Reading(
        text=text,
        tokenised=tokenised,
        title_end=len(document.title),
        title_words=bisect_left(found.starts, len(document.title)),
        words=tokens if tokenised else [normal(token) for token in tokens],
        spans=found,
    )


def literal_stems(text: str) -> Stems:
    """The literal stems of a phrase: "Type 1" gives `type 1`."""
    return tuple(map(_literal_stem, tokens(text)))


def _literal_stem(token: str) -> str:
    return stem(plain(token).lower())


class _Recent:
    """The readings used last, of `MOST_CHARACTERS` characters in total; safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str, bool], Reading] = OrderedDict()
        self._characters = 0

    def get(self, document: Document) -> Reading | None:
        key = _key(document)
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
        return found

    def put(self, document: Document, reading: Reading) -> None:
        key = _key(document)
        with self._lock:
            if key in self._kept or len(reading.text) > MOST_CHARACTERS:
                return
            self._kept[key] = reading
            self._characters += len(reading.text)
            while self._characters > MOST_CHARACTERS:
                _, dropped = self._kept.popitem(last=False)
                self._characters -= len(dropped.text)


def _key(document: Document) -> tuple[str, str, bool]:
    """All that a reading depends on."""
    return document.title, document.body, document.tokenised


_RECENT = _Recent()
