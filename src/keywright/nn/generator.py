"""What a decoder needs from a model.

All decoding strategies (`decoding.strategies`) are written once over these protocols, for RNNs,
Transformers, One2Set (its slots are rows) and ExHiRD (its two levels are part of its state). A
*row* is one sequence being generated. A document has one row, or one per slot in a set model;
decoders repeat, reorder and drop rows with `select`.

`Memory` and `State` are types of the model's own. Decoders pass them on without looking inside, so
a bare `Generator` stands for any of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self

from torch import Tensor
from typing_extensions import TypeVar  # torch requires it; typing's has no defaults before 3.13

from keywright.data.batch import Batch


class Rows(Protocol):
    """Anything with one entry per row."""

    def select(self, index: Tensor) -> Self:
        """The rows at `index` [R'], in that order; an index may occur several times."""


Memory = TypeVar("Memory", bound=Rows, default=Any)
"""The encoded documents."""
State = TypeVar("State", bound=Rows, default=Any)
"""What one step hands to the next: a recurrent state or a key/value cache."""


@dataclass(frozen=True)
class Step(Generic[State]):
    """One step of all rows."""

    log_probs: Tensor  # [R, V + X] over the vocabulary and the per-document copy extension
    state: State
    attention: Tensor | None = None  # [R, S] over source positions, for replacing <unk>


class Generator(Protocol[Memory, State]):
    """A model as decoders see it."""

    rows_per_document: int  # 1, or the number of slots of a set model

    def encode(self, batch: Batch) -> Memory:
        """The memory of a batch, row-major: the rows of document 0, then of document 1, ..."""

    def start(self, memory: Memory) -> tuple[Tensor, State]:
        """The first input token of every row [R] and the state before it is read."""

    def step(self, tokens: Tensor, state: State, memory: Memory) -> Step[State]:
        """Read `tokens` [R] (ids of the extended vocabulary) and predict the next ones."""
