"""A generator whose probabilities are a table, so that every sequence can be enumerated."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from keywright.data.batch import Batch, make_batch
from keywright.data.vocab import BOS, EOS, NULL, PEOS, SEP, SPECIALS, UNK, Vocabulary
from keywright.nn.generator import Step
from keywright.types import Document

A, B, C = range(len(SPECIALS), len(SPECIALS) + 3)
VOCABULARY = Vocabulary(["a", "b", "c"])

Table = Callable[[str, int, tuple[int, ...]], dict[int, float]]
"""(body of the document, slot, tokens so far) -> probability of each token that can follow"""


def fixed(rows: dict[tuple[int, ...], dict[int, float]]) -> Table:
    """The same table for every document and slot; what is not in it ends."""
    return lambda body, slot, prefix: rows.get(prefix, {EOS: 1.0})


def random(tokens: Sequence[int], seed: int = 0) -> Table:
    """Other probabilities for every document, slot and prefix."""

    def row(body: str, slot: int, prefix: tuple[int, ...]) -> dict[int, float]:
        key = hashlib.blake2b(repr((seed, body, slot, prefix)).encode()).digest()
        rng = np.random.default_rng(list(key))
        return dict(zip(tokens, rng.dirichlet(np.ones(len(tokens))).tolist(), strict=True))

    return row


@dataclass(frozen=True)
class FakeRows:
    """Memory: (body, slot) of every row. State: the tokens read by every row."""

    rows: tuple[tuple[object, ...], ...]

    def select(self, index: Tensor) -> FakeRows:
        return FakeRows(tuple(self.rows[i] for i in index.tolist()))


@dataclass
class FakeGenerator:
    table: Table
    rows_per_document: int = 1
    attention: Callable[[tuple[int, ...]], int] | None = None
    steps: list[int] = field(default_factory=list)  # rows of every step taken

    def encode(self, batch: Batch) -> FakeRows:
        self.size = VOCABULARY.size + batch.extension_size
        self.positions = batch.source.shape[1]
        slots = range(self.rows_per_document)
        return FakeRows(tuple((d.body, slot) for d in batch.documents for slot in slots))

    def start(self, memory: FakeRows) -> tuple[Tensor, FakeRows]:
        return torch.full((len(memory.rows),), BOS), FakeRows(((),) * len(memory.rows))

    def step(self, tokens: Tensor, state: FakeRows, memory: FakeRows) -> Step:
        assert len(tokens) == len(state.rows) == len(memory.rows)
        self.steps.append(len(tokens))
        read = tuple((*row, token) for row, token in zip(state.rows, tokens.tolist(), strict=True))
        probabilities = torch.zeros(len(read), self.size, dtype=torch.float64)
        attention = torch.zeros(len(read), self.positions)
        for i, (said, (body, slot)) in enumerate(zip(read, memory.rows, strict=True)):
            for token, probability in self.table(body, slot, said[1:]).items():
                probabilities[i, token] = probability
            if self.attention is not None:
                attention[i, self.attention(said[1:])] = 1
        return Step(
            probabilities.log().float(),
            FakeRows(read),
            None if self.attention is None else attention,
        )


def documents(*bodies: str) -> list[Document]:
    return [Document(title="", body=body, tokenised=True) for body in bodies]


def batch(*bodies: str) -> Batch:
    return make_batch(documents(*bodies), VOCABULARY)


Permitted = Callable[[tuple[int, ...], int], bool]


def sequences(
    table: Table,
    body: str,
    slot: int,
    length: int,
    ends: tuple[int, ...] = (EOS,),
    permitted: Permitted = lambda prefix, token: True,
) -> list[tuple[tuple[int, ...], float]]:
    """Every sequence that ends or reaches `length`, with its log-probability: brute force."""

    def extend(prefix: tuple[int, ...], score: float) -> Iterator[tuple[tuple[int, ...], float]]:
        if (prefix and prefix[-1] in ends) or len(prefix) == length:
            yield prefix, score
            return
        for token, probability in table(body, slot, prefix).items():
            if permitted(prefix, token) and probability > 0:
                yield from extend((*prefix, token), score + math.log(probability))

    return list(extend((), 0.0))


__all__ = ["BOS", "EOS", "NULL", "PEOS", "SEP", "UNK"]
