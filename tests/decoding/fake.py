"""Models whose probabilities are a table, so that every sequence can be enumerated."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from keywright.data.batch import Batch, make_batch
from keywright.data.padding import Ids
from keywright.data.targets import Paradigm
from keywright.decoding.numpy_rules import LogProbs
from keywright.decoding.phrases import Found
from keywright.decoding.rules import DecodingRules
from keywright.decoding.strategies import greedy
from keywright.lexicon import BOS, EOS, NULL, PEOS, SEP, SPECIALS, UNK
from keywright.lexicons.words import Vocabulary
from keywright.nn.generator import Step
from keywright.runtime.search import grow, most_likely
from keywright.types import Document

A, B, C = range(len(SPECIALS), len(SPECIALS) + 3)
VOCABULARY = Vocabulary(["a", "b", "c"])
SPECIAL = VOCABULARY.special

Table = Callable[[str, int, tuple[int, ...]], dict[int, float]]
"""(body of the document, slot, tokens so far) -> probability of each token that can follow"""


def fixed(rows: dict[tuple[int, ...], dict[int, float]]) -> Table:
    """The same table for every document and slot; prefixes that are not in it end."""
    return lambda body, slot, prefix: rows.get(prefix, {EOS: 1.0})


def random(tokens: Sequence[int], seed: int = 0) -> Table:
    """Different probabilities for every document, slot and prefix."""

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
        for i, (prefix, (body, slot)) in enumerate(zip(read, memory.rows, strict=True)):
            for token, probability in self.table(body, slot, prefix[1:]).items():
                probabilities[i, token] = probability
            if self.attention is not None:
                attention[i, self.attention(prefix[1:])] = 1
        return Step(
            probabilities.log().float(),
            FakeRows(read),
            None if self.attention is None else attention,
        )


@dataclass
class FakeGrowing:
    """The same for the ONNX backend, which sees rows as `runtime.search.Growing`."""

    table: Table
    rows: list[tuple[str, int]]  # body and slot
    steps: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.read: list[tuple[int, ...]] = [() for _ in self.rows]

    def start(self) -> Ids:
        return np.full(len(self.rows), BOS)

    def step(self, tokens: Ids) -> tuple[LogProbs, Ids]:
        assert len(tokens) == len(self.rows)
        self.steps.append(len(tokens))
        self.read = [
            (*prefix, token) for prefix, token in zip(self.read, tokens.tolist(), strict=True)
        ]
        probabilities = np.zeros((len(tokens), VOCABULARY.size))
        for i, (prefix, row) in enumerate(zip(self.read, self.rows, strict=True)):
            for token, probability in self.table(*row, prefix[1:]).items():
                probabilities[i, token] = probability
        with np.errstate(divide="ignore"):
            log_probs = np.log(probabilities).astype(np.float32)
        return log_probs, np.zeros(len(tokens), dtype=np.int64)

    def keep(self, index: Ids) -> None:
        self.rows = [self.rows[i] for i in index]
        self.read = [self.read[i] for i in index]


Search = Callable[..., Found]
"""Greedy search: search(table, *bodies, paradigm=..., slots=..., steps=..., **options)"""


def greedy_torch(
    table: Table,
    *bodies: str,
    paradigm: Paradigm = "one2seq",
    slots: int = 1,
    steps: list[int] | None = None,
    **options: object,
) -> Found:
    config = greedy.Config(**options)  # type: ignore[arg-type]
    model = FakeGenerator(table, slots, steps=[] if steps is None else steps)
    return greedy.search(config, model, batch(*bodies), DecodingRules(config, paradigm, SPECIAL))


def greedy_onnx(
    table: Table,
    *bodies: str,
    paradigm: Paradigm = "one2seq",
    slots: int = 1,
    steps: list[int] | None = None,
    **options: object,
) -> Found:
    config = greedy.Config(**options)  # type: ignore[arg-type]
    rows = [(body, slot) for body in bodies for slot in range(slots)]
    growing = FakeGrowing(table, rows, [] if steps is None else steps)
    return grow(growing, DecodingRules(config, paradigm, SPECIAL), most_likely)


SEARCHES: dict[str, Search] = {"torch": greedy_torch, "onnx": greedy_onnx}


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
