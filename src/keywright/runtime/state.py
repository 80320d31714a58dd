"""What rows carry from one step to the next: keys and values of a Transformer, or recurrent states.

The manifest says which, by a shape that begins it: `manifest.state.begin(encoded, owner)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from keywright.runtime.sources import Ids, Mask

NEVER = np.float32(-1e30)
"""Added to an energy, it leaves a probability of nothing."""
ROOM = 16  # positions by which the room for keys and values grows

Arrays = Mapping[str, NDArray[Any]]


class State(Protocol):
    def feeds(self) -> Arrays:
        """What the next step reads."""

    def advance(self, said: Arrays) -> None:
        """Take in what a step has said."""

    def keep(self, index: Ids) -> None:
        """Go on with these rows only."""


class CacheShape(msgspec.Struct, frozen=True, tag="cache"):
    """Of the decoder of a Transformer."""

    layers: int
    heads: int
    width: int

    def begin(self, encoded: Arrays, owner: Ids) -> State:
        """The state of rows that begin, each with a document `owner` [R] of those `encoded`."""
        return Cache(self, len(owner))

    def room(self, rows: int, length: int) -> dict[str, NDArray[np.float32]]:
        """Zeros, and not whatever was there: what is masked must still be a number."""
        head = self.width // self.heads
        room: dict[str, NDArray[np.float32]] = {}
        for number in range(self.layers):
            room[f"past_key_{number}"] = np.zeros((rows, self.heads, head, length), np.float32)
            room[f"past_value_{number}"] = np.zeros((rows, self.heads, length, head), np.float32)
        return room


class HiddenNames(msgspec.Struct, frozen=True, tag="hidden"):
    """Of recurrent states: the encoder gives `first_x`; a step reads `x` and says `next_x`."""

    names: tuple[str, ...]

    def begin(self, encoded: Arrays, owner: Ids) -> State:
        return Hidden({name: encoded[f"first_{name}"][owner] for name in self.names})


class Cache:
    """Keys and values of all that was said, in room that grows now and then: a step costs one step,
    and nothing of it is copied in between."""

    def __init__(self, shape: CacheShape, rows: int):
        self._shape = shape
        self._length = 0
        self._room = ROOM
        self._arrays = shape.room(rows, ROOM)

    def feeds(self) -> Arrays:
        return {
            "position": np.array([self._length]),
            "past_bias": bias(np.arange(self._room) < self._length),
            **self._arrays,
        }

    def advance(self, said: Arrays) -> None:
        for number in range(self._shape.layers):
            place = self._length
            self._arrays[f"past_key_{number}"][..., place] = said[f"new_key_{number}"][..., 0]
            self._arrays[f"past_value_{number}"][:, :, place] = said[f"new_value_{number}"][:, :, 0]
        self._length += 1
        if self._length == self._room:
            self._enlarge()

    def keep(self, index: Ids) -> None:
        self._arrays = {name: array[index] for name, array in self._arrays.items()}

    def _enlarge(self) -> None:
        self._room += ROOM
        larger = self._shape.room(len(self._arrays["past_key_0"]), self._room)
        for name, array in self._arrays.items():
            larger[name][:, :, : array.shape[2], : array.shape[3]] = array
        self._arrays = larger


class Hidden:
    """Recurrent states [R, D] by name."""

    def __init__(self, arrays: Arrays):
        self._arrays = arrays

    def feeds(self) -> Arrays:
        return self._arrays

    def advance(self, said: Arrays) -> None:
        self._arrays = {name: said[f"next_{name}"] for name in self._arrays}

    def keep(self, index: Ids) -> None:
        self._arrays = {name: array[index] for name, array in self._arrays.items()}


def bias(mask: Mask) -> NDArray[np.float32]:
    return np.where(mask, np.float32(0), NEVER)
