"""What a decoder asks of a model.

Greedy search, sampling, beam search and exhaustive decoding are written once over these three
protocols, for RNNs, Transformers, One2Set (its slots are rows) and ExHiRD (its two levels hide
inside its state). A *row* is one sequence being generated; a document has one row at first, or one
per slot for set models, and decoders repeat and reorder rows with `select`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

from torch import Tensor

from keywright.data.batch import Batch


class Rows(Protocol):
    """Anything with one entry per row."""

    def select(self, index: Tensor) -> Self:
        """The rows at `index` [R'] (repeats allowed), in that order."""


@dataclass(frozen=True)
class Step:
    """One step of all rows."""

    log_probs: Tensor  # [R, V + X] over the vocabulary and the per-document copy extension
    state: Rows  # what the next step needs: recurrent state or key/value cache
    attention: Tensor | None = None  # [R, S] over source positions, for replacing <unk>


class Generator(Protocol):
    """A model as decoders see it."""

    rows_per_document: int  # 1, or the number of slots of a set model

    def encode(self, batch: Batch) -> Rows:
        """The memory of a batch, row-major: the rows of document 0, then of document 1, ..."""

    def start(self, memory: Rows) -> tuple[Tensor, Rows]:
        """The first input token of every row [R] and the state before it is read."""

    def step(self, tokens: Tensor, state: Rows, memory: Rows) -> Step:
        """Read `tokens` [R] (ids of the extended vocabulary) and predict the next ones."""
