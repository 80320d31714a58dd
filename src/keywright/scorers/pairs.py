"""Pairs of a predicted and a gold phrase with a score: what a scorer learns from.

Luo et al. (2021) keep the tuples (p_i, y_j, score) that arise when FG is computed, and screen them:
nearly all pairs share no word, so all pairs with a score above 0 are kept, but of the others only
one per prediction. Phrases are stems joined by blanks, as metrics and rewards compare them.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import IO, Literal, cast

import msgspec

from keywright.data.corpus import Digest
from keywright.data.records import read_records
from keywright.errors import DataError
from keywright.files import atomic_write, fail
from keywright.matches import PartMatches
from keywright.metrics import fg

Similarity = Literal["both", "edit", "token"]
"""Equation 7's mean of edit similarity and token F1, or one of the two alone."""


class ScoredPair(msgspec.Struct, frozen=True):
    prediction: str
    target: str
    score: float


class _Record(msgspec.Struct):
    prediction: str
    target: str
    score: float


def similarity(prediction: str, target: str, kind: Similarity) -> float:
    """How similar two phrases are, in [0, 1] (equations 5 to 7)."""
    if prediction == target:
        return 1.0
    left, right = prediction.split(" "), target.split(" ")
    if set(left).isdisjoint(right):
        return 0.0
    pair = fg.compare(left, right)
    return {"both": pair.both, "edit": pair.edit, "token": pair.f1}[kind]


def screened(
    part: PartMatches, kind: Similarity, zeros: int, rng: random.Random
) -> Iterator[ScoredPair]:
    """Every pair of a document's part that scores above 0, and up to `zeros` others a prediction.

    Which of the others are taken is random.
    """
    targets = [target for target in part.targets if target]
    for prediction in filter(None, part.predictions):
        pairs = [
            ScoredPair(prediction, target, similarity(prediction, target, kind))
            for target in targets
        ]
        yield from (pair for pair in pairs if pair.score > 0)
        unrelated = [pair for pair in pairs if pair.score == 0]
        yield from rng.sample(unrelated, min(zeros, len(unrelated)))


def read_pairs(path: str | Path) -> Iterator[ScoredPair]:
    """The pairs of a JSON lines file: `{"prediction", "target", "score"}`."""
    return (pair for _, pair in read_records(path, _Record, _pair, fail))


def _pair(record: _Record) -> ScoredPair:
    for name, phrase in (("prediction", record.prediction), ("target", record.target)):
        if not phrase.strip():
            raise DataError(f"{name}: is empty; leave pairs without two phrases out")
    if not (math.isfinite(record.score) and 0 <= record.score <= 1):
        raise DataError(f"score: is {record.score}; it must be a number from 0 to 1")
    return ScoredPair(record.prediction, record.target, record.score)


class Pairs(msgspec.Struct, frozen=True):
    """Pairs in memory, with a digest of what was read."""

    pairs: Sequence[ScoredPair]
    digest: Digest


def read_all(paths: Sequence[str], most: int | None, setting: str) -> Pairs:
    """The first `most` pairs of the files; `setting` is the name of the setting that lists them."""
    encode = msgspec.json.Encoder().encode
    sha = hashlib.sha256()
    pairs: list[ScoredPair] = []
    for pair in islice(chain.from_iterable(map(read_pairs, paths)), most):
        sha.update(encode(pair) + b"\n")
        pairs.append(pair)
    if paths and not pairs:
        raise DataError(f"{setting}: there is no pair in {', '.join(paths)}")
    return Pairs(pairs, Digest(len(pairs), sha.hexdigest()))


def write_pairs(pairs: Iterable[ScoredPair], path: str | Path) -> int:
    """Write pairs as JSON lines; how many there were."""
    encode = msgspec.json.Encoder().encode
    count = 0
    with atomic_write(path, "wb") as file:
        for pair in pairs:
            cast(IO[bytes], file).write(encode(pair) + b"\n")
            count += 1
    return count
