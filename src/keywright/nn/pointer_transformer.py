"""An encoder and a Transformer decoder that generates or copies: a `Generator`.

The decoder reads its own output through the encoder's embedding, as source and target share their
words. One document may have many rows (slots, beams, samples); they share its encoding as long as
every document has equally many of them, side by side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor, nn

from keywright.data.batch import Batch
from keywright.data.vocab import BOS, PAD, Lexicon
from keywright.nn.generator import Step
from keywright.nn.pointer import IMPOSSIBLE, PointerOutput
from keywright.nn.transformer import Cache, Decoder, Encoder, KeyValue, Shape, SinusoidalPositions


@dataclass(frozen=True)
class Source:
    """What the decoder sees of B documents, each of which serves `rows` consecutive rows."""

    layers: tuple[KeyValue, ...]  # of the cross attention
    pointer_keys: Tensor | None  # [B, S, D], for a pointer of its own
    mask: Tensor  # [B, S] bool, True at real positions
    copyable: Tensor  # [B, S] bool, True at positions that can be copied
    extended: Tensor  # [B, S] ids in the output space
    extension_inputs: Tensor  # [B, X] ids of the extension for the embedding
    rows: int = 1
    slots: Tensor | None = None  # [R] which control code each row has

    def select(self, index: Tensor) -> Self:
        """Rows in a new order; documents are copied only if their numbers of rows then differ."""
        owner = index // self.rows
        documents, counts = torch.unique_consecutive(owner, return_counts=True)
        regular = bool((counts == counts[:1]).all())
        rows = int(counts[0]) if regular and len(counts) else 1
        chosen = documents if regular else owner
        keys = self.pointer_keys
        return replace(
            self,
            layers=tuple(layer.select(chosen) for layer in self.layers),
            pointer_keys=None if keys is None else keys.index_select(0, chosen),
            mask=self.mask.index_select(0, chosen),
            copyable=self.copyable.index_select(0, chosen),
            extended=self.extended.index_select(0, chosen),
            extension_inputs=self.extension_inputs.index_select(0, chosen),
            rows=rows,
            slots=None if self.slots is None else self.slots.index_select(0, index),
        )

    def repeated(self, rows: int, slots: Tensor | None = None) -> Self:
        """The same documents with `rows` rows each."""
        return replace(self, rows=rows, slots=slots)


class SourceEncoder(nn.Module):
    """Maps ids [B, S] and their mask to [B, S, D], through an embedding the decoder shares."""

    embedding: nn.Embedding  # of width D


class WordEncoder(SourceEncoder):
    """A Transformer encoder over words: scaled embeddings plus sinusoidal positions."""

    def __init__(self, shape: Shape, vocabulary: int):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, shape.width, padding_idx=PAD)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        self.scale = math.sqrt(shape.width)
        self.positions = SinusoidalPositions(shape.width)
        self.dropout = nn.Dropout(shape.dropout)
        self.layers = Encoder(shape)

    def forward(self, source: Tensor, mask: Tensor) -> Tensor:
        x = self.embedding(source) * self.scale + self.positions(0, source.shape[1])
        encoded: Tensor = self.layers(self.dropout(x), mask)
        return encoded


class PointerTransformer(nn.Module):
    """Everything but the loss.

    The copy attention is the first head of the last layer's cross attention or, with
    `own_pointer`, one of full width. With control codes every document has one row per code.
    """

    def __init__(
        self,
        encoder: SourceEncoder,
        shape: Shape,
        vocabulary: Lexicon,
        *,
        codes: int = 0,
        own_pointer: bool = False,
    ):
        super().__init__()
        self.rows_per_document = max(1, codes)
        self.size = vocabulary.size
        self.encoder = encoder
        self.scale = math.sqrt(shape.width)
        self.positions = SinusoidalPositions(shape.width)
        self.dropout = nn.Dropout(shape.dropout)
        self.decoder = Decoder(shape)
        self.output = PointerOutput(shape.width, vocabulary.size)
        self.pointer_query = nn.Linear(shape.width, shape.width) if own_pointer else None
        self.pointer_key = nn.Linear(shape.width, shape.width) if own_pointer else None
        self.codes = nn.Embedding(codes, shape.width) if codes else None
        if self.codes is not None:
            nn.init.uniform_(self.codes.weight, -0.1, 0.1)
        inputs = torch.tensor(vocabulary.input_ids, dtype=torch.long)
        self.register_buffer("input_ids", inputs, persistent=False)

    def encode(self, batch: Batch) -> Source:
        encoded = self.encoder(batch.source, batch.source_mask)
        n = self.rows_per_document
        slots = torch.arange(n, device=encoded.device).repeat(len(batch))
        return Source(
            layers=self.decoder.read_source(encoded),
            pointer_keys=None if self.pointer_key is None else self.pointer_key(encoded),
            mask=batch.source_mask,
            # A source may hold marks of its own kind, which no output id stands for.
            copyable=batch.source_mask & (batch.source_extended != PAD),
            extended=batch.source_extended,
            extension_inputs=batch.extension_inputs,
            rows=n,
            slots=None if self.codes is None else slots,
        )

    def start(self, memory: Source) -> tuple[Tensor, Cache]:
        rows = memory.mask.shape[0] * memory.rows
        return torch.full((rows,), BOS, device=memory.mask.device), Cache()

    def step(self, tokens: Tensor, state: Cache, memory: Source) -> Step:
        states, scores, state = self.run(tokens[:, None], state, memory)
        log_probs, attention = self.output.log_probs(
            states[:, 0],
            scores[:, 0],
            memory.extended.repeat_interleave(memory.rows, dim=0),
            memory.extension_inputs.shape[1],
        )
        return Step(log_probs, state, attention)

    def run(self, tokens: Tensor, cache: Cache, memory: Source) -> tuple[Tensor, Tensor, Cache]:
        """Read tokens [R, T] of the output space after those in the cache.

        Returns states [R, T, D], scores of the copy attention [R, T, S] and the new cache.
        """
        x = self.embed(tokens, cache.length, memory)
        states, cache, scores = self.decoder(x, cache, memory.layers, memory.mask)
        if self.pointer_query is not None and memory.pointer_keys is not None:
            query = self.pointer_query(states).reshape(len(memory.mask), -1, states.shape[-1])
            scores = query @ memory.pointer_keys.transpose(1, 2) / self.scale
            scores = scores.reshape(*tokens.shape, -1)
        blocked = ~memory.copyable.repeat_interleave(memory.rows, dim=0)
        return states, scores.masked_fill(blocked[:, None], IMPOSSIBLE), cache

    def embed(self, tokens: Tensor, start: int, memory: Source) -> Tensor:
        """Tokens [R, T] of the output space from position `start` on: [R, T, D]."""
        x = self.encoder.embedding(self.inputs(tokens, memory)) * self.scale
        x = x + self.positions(start, start + tokens.shape[1])
        if self.codes is not None and memory.slots is not None:
            x = x + self.codes(memory.slots)[:, None]
        embedded: Tensor = self.dropout(x)
        return embedded

    def inputs(self, tokens: Tensor, memory: Source) -> Tensor:
        """The ids for the embedding of tokens [R, T], copied ones included."""
        known = self.get_buffer("input_ids")[tokens.clamp(max=self.size - 1)]
        if memory.extension_inputs.shape[1] == 0:
            return known
        extension = memory.extension_inputs.repeat_interleave(memory.rows, dim=0)
        copied = extension.gather(1, (tokens - self.size).clamp(min=0))
        return torch.where(tokens < self.size, known, copied)

    def log_likelihood(self, target: Tensor, mask: Tensor, memory: Source) -> Tensor:
        """Teacher-forced log-probabilities of the real tokens of `target` [R, T], in order: [N]."""
        first = target.new_full((len(target), 1), BOS)
        states, scores, _ = self.run(torch.cat([first, target[:, :-1]], 1), Cache(), memory)
        rows, _ = mask.nonzero(as_tuple=True)
        return self.output.log_likelihood(
            states[mask], scores[mask], memory.extended[rows // memory.rows], target[mask]
        )
