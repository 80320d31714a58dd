"""What rows carry from one step to the next: keys and values of a Transformer, or recurrent states.

The manifest holds its shape, which creates the first state: `manifest.state.begin(encoded, owner)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Protocol

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from keywright.data.padding import Ids, Mask
from keywright.errors import DataError

NEVER = np.float32(-1e30)
"""Added to an energy, it makes the probability zero."""
ROOM = 16  # positions that are added when the arrays of keys and values are full

Arrays = Mapping[str, NDArray[Any]]


class State(Protocol):
    def feeds(self) -> Arrays:
        """The inputs of the next step."""

    def advance(self, outputs: Arrays) -> None:
        """Add the outputs of a step."""

    def keep(self, index: Ids) -> None:
        """Continue with these rows only."""


class CacheShape(msgspec.Struct, frozen=True, tag="cache"):
    """The key/value cache of a Transformer decoder."""

    layers: Annotated[int, Meta(ge=1, le=200)]  # limits, because a manifest may be anyone's
    heads: Annotated[int, Meta(ge=1, le=1000)]
    width: Annotated[int, Meta(ge=1, le=1 << 16)]

    @property
    def encoded(self) -> tuple[str, ...]:
        """The outputs of the encoder that it needs."""
        return ()

    @property
    def inputs(self) -> tuple[str, ...]:
        """What it gives to a decoding step."""
        past = (f"past_{kind}_{n}" for n in range(self.layers) for kind in ("key", "value"))
        return ("position", "past_bias", *past)

    @property
    def outputs(self) -> tuple[str, ...]:
        """What it needs from a decoding step."""
        return tuple(f"new_{kind}_{n}" for n in range(self.layers) for kind in ("key", "value"))

    def begin(self, encoded: Arrays, owner: Ids) -> State:
        """The first state of rows; row r belongs to document `owner[r]` of those `encoded`."""
        return Cache(self, len(owner))

    def room(self, rows: int, length: int) -> dict[str, NDArray[np.float32]]:
        """Arrays of zeros, because masked values must still be numbers."""
        head = self.width // self.heads
        room: dict[str, NDArray[np.float32]] = {}
        for number in range(self.layers):
            room[f"past_key_{number}"] = np.zeros((rows, self.heads, head, length), np.float32)
            room[f"past_value_{number}"] = np.zeros((rows, self.heads, length, head), np.float32)
        return room


class HiddenNames(msgspec.Struct, frozen=True, tag="hidden"):
    """Recurrent states: the encoder returns `first_x`, a step reads `x` and returns `next_x`."""

    names: tuple[str, ...]

    @property
    def encoded(self) -> tuple[str, ...]:
        return tuple(f"first_{name}" for name in self.names)

    @property
    def inputs(self) -> tuple[str, ...]:
        return self.names

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(f"next_{name}" for name in self.names)

    def begin(self, encoded: Arrays, owner: Ids) -> State:
        return Hidden({name: encoded[f"first_{name}"][owner] for name in self.names})


class Cache:
    """Keys and values of all tokens so far, in arrays that grow only now and then, so that a step
    does not copy them."""

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

    def advance(self, outputs: Arrays) -> None:
        place = self._length
        for number in range(self._shape.layers):
            keys, values = outputs[f"new_key_{number}"], outputs[f"new_value_{number}"]
            for found, name in ((keys, "key"), (values, "value")):
                if found.shape[:2] != self._arrays[f"past_{name}_{number}"].shape[:2]:
                    raise DataError(f"decoder.onnx: returns new_{name}_{number} of a wrong shape")
            self._arrays[f"past_key_{number}"][..., place] = keys[..., 0]
            self._arrays[f"past_value_{number}"][:, :, place] = values[:, :, 0]
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

    def advance(self, outputs: Arrays) -> None:
        self._arrays = {name: outputs[f"next_{name}"] for name in self._arrays}

    def keep(self, index: Ids) -> None:
        self._arrays = {name: array[index] for name, array in self._arrays.items()}


def bias(mask: Mask) -> NDArray[np.float32]:
    return np.where(mask, np.float32(0), NEVER)
