"""Where keyphrases stand in a text: log-odds for every run of words, told from its context.

Counts know a phrase and forget the sentence it stands in. A marker reads the words in their order:
"we propose X" speaks for X, "in many X" against it, also where X was never seen before. It is a
stack of dilated convolutions over words (Strubell et al. 2017), each of which also sees the mean of
the whole document; a run of words is judged by the states of its first and its last word, as in
span-based extraction (Lee et al. 2017). `training.marker` has the network and its learning.

marker.json    the stems and the endings of words that it knows
marker.onnx    the network
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from keywright.errors import DataError
from keywright.ranking.reading import LONGEST, Reading

UNKNOWN = 0
ENDING = 3  # letters
MOST_OFTEN = 6  # more occurrences count as many
STANDINGS = 3 * MOST_OFTEN
PLACES = 16

Ids = NDArray[np.int64]
LogOdds = NDArray[np.float32]


class Known(msgspec.Struct, frozen=True):
    """Words by their numbers, which begin at 1: 0 is what is not known."""

    stems: list[str]
    endings: list[str]


class Marker:
    """A document -> log-odds [words, LONGEST] that the 1, 2, ... words from each on are one."""

    def __init__(self, graph: Path, known: Path):
        # Imported here: reading what a folder says about itself needs no ONNX Runtime.
        from keywright.runtime.session import open_session

        try:
            words = msgspec.json.decode(known.read_bytes(), type=Known)
        except msgspec.DecodeError as error:
            raise DataError(f"does not list words: {error}", known) from None
        self._stems = numbered(words.stems)
        self._endings = numbered(words.endings)
        self._session: Any = open_session(graph, threads=1)

    def __call__(self, reading: Reading) -> LogOdds:
        if not reading.words:
            return np.empty((0, LONGEST), np.float32)
        stems, endings = self._stems, self._endings
        inputs = {
            "stems": np.array([stems.get(stem, UNKNOWN) for stem in reading.stems]),
            "endings": np.array([endings.get(word[-ENDING:], UNKNOWN) for word in reading.words]),
            "standings": standings(_numbers(reading.stems), reading.title),
            "places": places(len(reading.words)),
        }
        found: LogOdds = self._session.run(None, inputs)[0]
        return found


def numbered(names: Sequence[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(names, start=1)}


def _numbers(names: Sequence[str]) -> Ids:
    """A number for each name; an array of texts would be as wide as the longest of them."""
    number: dict[str, int] = {}
    return np.array([number.setdefault(name, len(number)) for name in names])


def standings(stems: NDArray[np.integer[Any]], title: int) -> Ids:
    """How often each word occurs, whether it stands in the title, and whether it does so here."""
    distinct, number, count = np.unique(stems, return_inverse=True, return_counts=True)
    titled = np.zeros(len(distinct), np.int64)
    titled[number[:title]] = 1
    often = np.minimum(count, MOST_OFTEN) - 1
    found: Ids = (3 * often + titled)[number] + (np.arange(len(stems)) < title)
    return found


def places(size: int) -> Ids:
    """How far from the beginning, in steps that grow."""
    return np.minimum(PLACES - 1, 1.7 * np.log2(1 + np.arange(size))).astype(np.int64)
