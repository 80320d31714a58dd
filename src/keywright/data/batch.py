"""Batches: documents as tensors, those of similar length together.

Everything is a function of (seed, epoch, document): an epoch has the same batches whether it starts
at the first one or, after an interruption, in the middle.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from keywright.data.padding import padded
from keywright.data.store import Stored
from keywright.data.targets import TargetPhrase, Targets
from keywright.lexicon import EncodedSource, Lexicon
from keywright.types import Document

Augment = Callable[[Document, np.random.Generator], Sequence[Document]]
"""A random transformation of a document into one or more (see `data.kpdrop`)."""


@dataclass(frozen=True)
class Batch:
    """B documents. V is the size of the vocabulary, X the size of the largest extension.

    Targets are ids in the output space, with `<eos>` and without `<bos>`. One2Seq has one sequence
    per document; One2One and One2Set have up to N phrases, for which the document is read once.
    """

    documents: tuple[Document, ...]
    source: Tensor  # [B, S] long, ids for the encoder's embedding
    source_extended: Tensor  # [B, S] long, ids in the output space V + X
    source_mask: Tensor  # [B, S] bool, True at real positions
    title_lengths: Tensor  # [B] long, how many leading positions are the title
    extension: tuple[tuple[str, ...], ...]  # the tokens of ids V, V + 1, ... of each document
    extension_inputs: Tensor  # [B, X] long, ids of those tokens for the encoder's embedding
    target: Tensor | None = None  # [B, T] (One2Seq) or [B, N, T], long
    target_mask: Tensor | None = None  # bool, like target
    target_present: Tensor | None = None  # [B, N] bool, phrase occurs in the source; False at pads

    def __len__(self) -> int:
        return len(self.documents)

    @property
    def extension_size(self) -> int:
        """X"""
        return self.extension_inputs.shape[1]

    @property
    def targets(self) -> tuple[Tensor, Tensor]:
        """The targets and their mask; an error for a batch that was made without them."""
        if self.target is None or self.target_mask is None:
            raise ValueError("the batch has no targets; pass `targets` when making it")
        return self.target, self.target_mask

    def take(self, rows: Tensor) -> Self:
        """The documents of some rows [R]."""
        values: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        tensors = {name: x[rows] for name, x in values.items() if isinstance(x, Tensor)}
        numbers = rows.tolist()
        tuples = {
            name: tuple(values[name][row] for row in numbers) for name in ("documents", "extension")
        }
        return type(self)(**values | tensors | tuples)

    def to(self, device: torch.device | str) -> Self:
        values: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        moved = {k: v.to(device) for k, v in values.items() if isinstance(v, Tensor)}
        return type(self)(**values | moved)


@dataclass(frozen=True)
class Example:
    """One document before padding."""

    document: Document
    source: EncodedSource
    phrases: tuple[TargetPhrase, ...] = ()
    sequences: tuple[Sequence[int], ...] = ()


def encode(
    document: Document,
    vocabulary: Lexicon,
    max_source: int | None,
    targets: Targets | None = None,
    rng: np.random.Generator | None = None,
) -> Example:
    source = vocabulary.encode_document(document, max_source)
    if targets is None:
        return Example(document, source)
    phrases = targets.phrases(document, rng or np.random.default_rng(0))
    sequences = targets.sequences(phrases, vocabulary, source.extension)
    return Example(document, source, tuple(phrases), tuple(sequences))


def collate(examples: Sequence[Example], pad: int, targets: Targets | None = None) -> Batch:
    """Pad examples to tensors; `targets` must be those that they were encoded with."""
    sources = [example.source for example in examples]
    source, mask = _padded([s.ids for s in sources], pad)
    batch = Batch(
        documents=tuple(example.document for example in examples),
        source=source,
        source_extended=_padded([s.extended for s in sources], pad)[0],
        source_mask=mask,
        title_lengths=torch.tensor([s.title_length for s in sources]),
        extension=tuple(s.extension for s in sources),
        extension_inputs=_padded([s.extension_inputs for s in sources], pad)[0],
    )
    return batch if targets is None else _with_targets(batch, examples, targets, pad)


def make_batch(
    documents: Sequence[Document],
    vocabulary: Lexicon,
    max_source: int | None = None,
    targets: Targets | None = None,
    rng: np.random.Generator | None = None,
) -> Batch:
    """A batch of exactly these documents, with targets if they are asked for."""
    examples = [encode(document, vocabulary, max_source, targets, rng) for document in documents]
    return collate(examples, vocabulary.special.pad, targets)


def _with_targets(batch: Batch, examples: Sequence[Example], targets: Targets, pad: int) -> Batch:
    target, mask = _padded([ids for example in examples for ids in example.sequences], pad)
    if targets.paradigm != "one2seq":
        counts = [len(example.sequences) for example in examples]
        target, mask = _stacked(target, mask, counts, pad)
    return replace(
        batch,
        target=target,
        target_mask=mask,
        target_present=_padded([[p.present for p in e.phrases] for e in examples], 0)[0].bool(),
    )


def _padded(rows: Sequence[Sequence[int]], pad: int) -> tuple[Tensor, Tensor]:
    matrix, mask = padded(rows, pad)
    return torch.from_numpy(matrix), torch.from_numpy(mask)


def _stacked(rows: Tensor, mask: Tensor, counts: Sequence[int], pad: int) -> tuple[Tensor, Tensor]:
    """Rows [R, T], `counts` of them for each document in turn, as [B, N, T]."""
    real = torch.arange(max(counts)) < torch.tensor(counts).unsqueeze(1)  # [B, N]
    stacked = torch.full((*real.shape, rows.shape[1]), pad)
    stacked_mask = torch.zeros_like(stacked, dtype=torch.bool)
    stacked[real], stacked_mask[real] = rows, mask
    return stacked, stacked_mask


class Batches:
    """The training batches of a corpus, epoch by epoch.

    Documents without a target phrase are left out, unless `unlabelled` is set. A batch has `size`
    documents (the last one of an epoch may have fewer) before `augment`, which may add others. The
    documents of `bucket` batches are sorted by length together: a larger number means less padding,
    but less mixing.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        vocabulary: Lexicon,
        targets: Targets,
        *,
        size: int,
        bucket: int = 50,
        max_source: int | None = None,
        seed: int = 0,
        augment: Augment | None = None,
        unlabelled: bool = False,
    ):
        self.documents: Sequence[Document]
        if isinstance(documents, Stored):
            self.documents = documents.select(
                [n for n, document in enumerate(documents) if unlabelled or targets.any(document)]
            )
        else:
            self.documents = [x for x in documents if unlabelled or targets.any(x)]
        self.vocabulary = vocabulary
        self.targets = targets
        self.size = size
        self.bucket = bucket
        self.max_source = max_source
        self.seed = seed
        self.augment = augment
        # Documents that are the same in every epoch are encoded once, if they are in memory.
        self._encoded: dict[int, Example] = {}
        self._lengths = np.array([_length(d, max_source) for d in self.documents], dtype=np.int64)

    def __len__(self) -> int:
        """Batches per epoch."""
        return -(-len(self.documents) // self.size)

    def plan(self, epoch: int) -> list[NDArray[np.int64]]:
        """The documents of every batch of an epoch, as indices into `documents`."""
        rng = np.random.default_rng([self.seed, epoch])
        order = rng.permutation(len(self.documents))
        pools = _cut(order, self.size * self.bucket)
        batches = [
            batch
            for pool in pools
            for batch in _cut(pool[np.argsort(self._lengths[pool], kind="stable")], self.size)
        ]
        return [batches[i] for i in rng.permutation(len(batches))]

    def build(self, epoch: int, indices: Sequence[int] | NDArray[np.int64]) -> Batch:
        """The batch of these documents, which depends on nothing else that was built before."""
        examples = [example for index in indices for example in self._examples(epoch, int(index))]
        return collate(examples, self.vocabulary.special.pad, self.targets)

    def _examples(self, epoch: int, index: int) -> list[Example]:
        if index in self._encoded:
            return [self._encoded[index]]
        rng = np.random.default_rng([self.seed, epoch, index])
        document = self.documents[index]
        copies = [document] if self.augment is None else self.augment(document, rng)
        examples = [
            encode(copy, self.vocabulary, self.max_source, self.targets, rng) for copy in copies
        ]
        in_memory = not isinstance(self.documents, Stored)
        if in_memory and self.augment is None and self.targets.order != "random":
            self._encoded[index] = _packed(examples[0])
        return examples

    def epoch(self, epoch: int, start: int = 0) -> Iterator[Batch]:
        """The batches of an epoch from batch `start` on."""
        for indices in self.plan(epoch)[start:]:
            yield self.build(epoch, indices)


def _packed(example: Example) -> Example:
    """The same in half the memory and faster to join, because a whole corpus is kept like this."""
    source = replace(
        example.source,
        ids=array("i", example.source.ids),
        extended=array("i", example.source.extended),
        extension_inputs=array("i", example.source.extension_inputs),
    )
    sequences = tuple(array("i", ids) for ids in example.sequences)
    return replace(example, source=source, sequences=sequences)


def _length(document: Document, max_source: int | None) -> int:
    # Only used to reduce padding, for which counting blanks instead of words is good enough.
    length = document.title.count(" ") + document.body.count(" ")
    return length if max_source is None else min(length, max_source)


def _cut(indices: NDArray[np.int64], size: int) -> list[NDArray[np.int64]]:
    ends = [*range(0, len(indices), size), len(indices)]
    return [indices[a:b] for a, b in pairwise(ends)]
