"""A scorer used alone: a file of pairs in, the same file with scores out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, cast

import msgspec

from keywright.data.records import read_records
from keywright.errors import DataError
from keywright.files import atomic_write, fail
from keywright.protocol import stemmed
from keywright.scorers.reading import Pair
from keywright.text.tokenise import normalise

SCORE = "fb"
# Pairs scored at once: enough to fill batches with pairs of like length.
_CHUNK = 8192

Record = dict[str, object]
Score = Callable[[Sequence[Pair]], list[float]]


def score_file(path: Path, scorer: Score, output: Path, *, stems: bool = False) -> int:
    """Add the score of a scorer to every line of a file of pairs; how many there are.

    `stems` says that phrases are stems already, as `make-pairs` writes them.
    """
    read = _as_given if stems else phrase_stems
    encode = msgspec.json.Encoder().encode
    count = 0
    with atomic_write(output, "wb") as file:
        for record, score in _scored(_read(path, read), scorer):
            cast(IO[bytes], file).write(encode({**record, SCORE: score}) + b"\n")
            count += 1
        if not count:
            raise DataError("has no pairs", path)
    return count


def phrase_stems(phrase: str) -> str:
    """A phrase in any spelling as scorers read it."""
    return stemmed(normalise(phrase))


def _as_given(phrase: str) -> str:
    return phrase.strip()


def _read(path: Path, read: Callable[[str], str]) -> Iterator[tuple[Record, Pair]]:
    def parsed(record: Record) -> tuple[Record, Pair]:
        return record, (_phrase(record, "prediction", read), _phrase(record, "target", read))

    return (value for _, value in read_records(path, Record, parsed, fail))


def _phrase(record: Record, name: str, read: Callable[[str], str]) -> str:
    phrase = record.get(name)
    if not isinstance(phrase, str):
        raise DataError(f"{name}: must be a phrase, not {phrase!r}")
    stems = read(phrase)
    if not stems:
        raise DataError(f"{name}: {phrase!r} has no word")
    return stems


def _scored(values: Iterable[tuple[Record, Pair]], scorer: Score) -> Iterator[tuple[Record, float]]:
    values = iter(values)
    while chunk := list(islice(values, _CHUNK)):
        scores = scorer([pair for _, pair in chunk])
        yield from zip((record for record, _ in chunk), scores, strict=True)
