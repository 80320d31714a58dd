"""Where keyphrases occur in a text: log-odds for every span of words, computed from its context.

Counts know a phrase, but not the sentence around it. A span tagger reads the words in their order:
"we propose X" suggests that X is a keyphrase, "in many X" that it is not, even if X is unknown.
`nn.span_tagger` is the network, `ranking.fitting.span_tagger` trains it.

span_tagger.json    the stems and the endings of words that it knows
span_tagger.onnx    the network
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from keywright.errors import DataError
from keywright.files import NOT_JSON
from keywright.ranking.candidates import LONGEST, RankerView, distinct_numbers

UNKNOWN = 0
ENDING = 3  # letters
MOST_OFTEN = 6  # more occurrences of a word count as this many
STANDINGS = 3 * MOST_OFTEN
PLACES = 16

Ids = NDArray[np.int64]
LogOdds = NDArray[np.float32]


class Known(msgspec.Struct, frozen=True):
    """Words in the order of their ids, which begin at 1; 0 is the id of unknown words."""

    stems: list[str]
    endings: list[str]


class SpanTagger:
    """A document -> log-odds [words, LONGEST] that 1, 2, ... words from each are a keyphrase."""

    def __init__(self, graph: Path, known: Path):
        # Imported here, because reading the manifest of a folder needs no ONNX Runtime.
        from keywright.runtime.session import Session

        try:
            words = msgspec.json.decode(known.read_bytes(), type=Known)
        except NOT_JSON as error:
            raise DataError(f"is not a list of words: {error}", known) from None
        self._stems = numbered(words.stems)
        self._endings = numbered(words.endings)
        self._session = Session(graph, threads=1)

    def __call__(self, view: RankerView) -> LogOdds:
        if not view.words:
            return np.empty((0, LONGEST), np.float32)
        stems, endings = self._stems, self._endings
        inputs = {
            "stems": np.array([stems.get(stem, UNKNOWN) for stem in view.stems]),
            "endings": np.array([endings.get(word[-ENDING:], UNKNOWN) for word in view.words]),
            "standings": standings(view.ids, view.title),
            "places": places(len(view.words)),
        }
        found: LogOdds = next(iter(self._session.run(inputs).values()))
        if found.shape != (len(view.words), LONGEST):
            raise DataError(
                f"returns {found.shape} for {len(view.words)} words", self._session.path
            )
        return found


def numbered(names: Sequence[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(names, start=1)}


def standings(stems: NDArray[np.integer[Any]], title: int) -> Ids:
    """Codes of how often each word occurs, whether in the title, and whether this is the title."""
    number = distinct_numbers(stems)
    count = np.bincount(number)
    titled = np.zeros(len(count), np.int64)
    titled[number[:title]] = 1
    often = np.minimum(count, MOST_OFTEN) - 1
    found: Ids = (3 * often + titled)[number] + (np.arange(len(stems)) < title)
    return found


def places(size: int) -> Ids:
    """Codes of the distance from the beginning, in growing steps."""
    return np.minimum(PLACES - 1, 1.7 * np.log2(1 + np.arange(size))).astype(np.int64)
