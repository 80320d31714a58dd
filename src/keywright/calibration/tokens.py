"""How probable the 1st, 2nd, ... token of a phrase is, given those before it (figure 2)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from keywright.calibration.entries import Entry

POSITIONS = 5


@dataclass(frozen=True)
class TokenPosition:
    """The conditional probabilities of all tokens at one position in their phrases."""

    position: int
    count: int
    mean: float | None
    quartiles: tuple[float, float, float] | None


class TokenProbabilities:
    """Probabilities by part and position in the phrase, collected one document at a time.

    Tokens are those of the model: words or subwords.
    """

    def __init__(self, positions: int = POSITIONS) -> None:
        self._values: dict[bool, list[list[float]]] = {
            present: [[] for _ in range(positions)] for present in (True, False)
        }

    def add(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            places = self._values[entry.present]
            for place, value in zip(places, entry.phrase.token_log_probs or (), strict=False):
                place.append(math.exp(min(value, 0.0)))

    def part(self, part: str) -> tuple[TokenPosition, ...]:
        """The positions in present, absent or all phrases."""
        chosen = {"present": (True,), "absent": (False,), "all": (True, False)}[part]
        columns = zip(*(self._values[present] for present in chosen), strict=True)
        return tuple(
            _position(number, [value for values in column for value in values])
            for number, column in enumerate(columns, 1)
        )


def _position(number: int, values: list[float]) -> TokenPosition:
    if not values:
        return TokenPosition(number, 0, None, None)
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75]).tolist()
    return TokenPosition(number, len(values), float(np.mean(values)), (low, middle, high))
