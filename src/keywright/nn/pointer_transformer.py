"""An encoder and a Transformer decoder that produces or copies tokens.

The decoder reads its own output through the embedding of the encoder, because source and target
have the same words. The rows of a document (slots, beams, samples) share its encoding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor, nn

from keywright.data.batch import Batch
from keywright.lexicon import Lexicon
from keywright.nn import copy
from keywright.nn.generator import Step
from keywright.nn.model import Model
from keywright.nn.rows import Sharing
from keywright.nn.transformer import (
    Cache,
    Decoder,
    Encoder,
    KeyValue,
    Shape,
    SinusoidalPositions,
)


@dataclass(frozen=True)
class Source:
    """B documents as the decoder sees them, and the R rows that read them."""

    layers: tuple[KeyValue, ...]  # of the cross attention
    pointer_keys: Tensor | None  # [B, S, D], if copying has an attention of its own
    mask: Tensor  # [B, S] bool, True at real positions
    copyable: Tensor  # [B, S] bool, True at positions that can be copied
    extended: Tensor  # [B, S] ids in the output space
    first: Tensor  # [B, S] for every position the first one with the same id
    extension_inputs: Tensor  # [B, X] ids of the extension for the embedding
    sharing: Sharing
    codes: Tensor | None = None  # [R] the control code of each row

    def select(self, index: Tensor) -> Self:
        owner = self.sharing.owner[index]
        codes = None if self.codes is None else self.codes[index]
        used, position = torch.unique(owner, return_inverse=True)
        if 2 * len(used) > len(self.mask):  # most documents are still read: avoid copying them
            return replace(self, sharing=Sharing.of(owner, len(self.mask)), codes=codes)
        keys = self.pointer_keys
        return replace(
            self,
            layers=tuple(layer.select(used) for layer in self.layers),
            pointer_keys=None if keys is None else keys[used],
            mask=self.mask[used],
            copyable=self.copyable[used],
            extended=self.extended[used],
            first=self.first[used],
            extension_inputs=self.extension_inputs[used],
            sharing=Sharing.of(position, len(used)),
            codes=codes,
        )


class SourceEncoder(nn.Module):
    """Maps ids [B, S] and their mask to [B, S, D]; the decoder uses the same embedding."""

    embedding: nn.Embedding  # of width D


class WordEncoder(SourceEncoder):
    """A Transformer encoder of words: scaled embeddings plus sinusoidal positions."""

    def __init__(self, shape: Shape, vocabulary: Lexicon):
        super().__init__()
        self.embedding = nn.Embedding(
            vocabulary.input_size, shape.width, padding_idx=vocabulary.special.pad
        )
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        self.scale = math.sqrt(shape.width)
        self.positions = SinusoidalPositions(shape.width)
        self.dropout = nn.Dropout(shape.dropout)
        self.layers = Encoder(shape)

    def forward(self, source: Tensor, mask: Tensor) -> Tensor:
        x = self.embedding(source) * self.scale + self.positions(0, source.shape[1])
        encoded: Tensor = self.layers(self.dropout(x), mask)
        return encoded


class PointerTransformer(Model[Source, Cache]):
    """Everything but the loss and the score.

    The copy attention is the first head of the last layer's cross attention or, with
    `own_pointer`, a separate one of full width. With control codes, every document has one row per
    code.
    """

    graphs = "pointer_transformer"

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
        self.special = vocabulary.special
        self.encoder = encoder
        self.scale = math.sqrt(shape.width)
        self.positions = SinusoidalPositions(shape.width)
        self.dropout = nn.Dropout(shape.dropout)
        self.decoder = Decoder(shape)
        self.output = nn.Linear(shape.width, vocabulary.size)
        nn.init.xavier_uniform_(self.output.weight)
        nn.init.zeros_(self.output.bias)
        self.gate = nn.Linear(shape.width, 1)  # produce (positive) or copy
        self.pointer_query = nn.Linear(shape.width, shape.width) if own_pointer else None
        # A bias of keys would add the same value to every position, which a softmax cancels.
        self.pointer_key = nn.Linear(shape.width, shape.width, bias=False) if own_pointer else None
        self.codes = nn.Embedding(codes, shape.width) if codes else None
        if self.codes is not None:
            nn.init.uniform_(self.codes.weight, -0.1, 0.1)
        inputs = torch.tensor(vocabulary.input_ids, dtype=torch.long)
        self.register_buffer("input_ids", inputs, persistent=False)

    def encode(self, batch: Batch) -> Source:
        encoded = self.encoder(batch.source, batch.source_mask)
        n, device = self.rows_per_document, encoded.device
        owner = torch.arange(len(batch), device=device).repeat_interleave(n)
        return Source(
            layers=self.decoder.read_source(encoded),
            pointer_keys=None if self.pointer_key is None else self.pointer_key(encoded),
            mask=batch.source_mask,
            copyable=_copyable(batch, self.special.pad),
            extended=batch.source_extended,
            first=copy.first_positions(batch.source_extended),
            extension_inputs=batch.extension_inputs,
            sharing=Sharing.of(owner, len(batch)),
            codes=None if self.codes is None else torch.arange(n, device=device).repeat(len(batch)),
        )

    def start(self, memory: Source) -> tuple[Tensor, Cache]:
        return torch.full_like(memory.sharing.owner, self.special.bos), Cache()

    def step(self, tokens: Tensor, state: Cache, memory: Source) -> Step[Cache]:
        states, energies, state = self.run(tokens[:, None], state, memory)
        owner = memory.sharing.owner
        log_probs = copy.log_probs(
            self.output(states[:, 0]),
            self.gate(states[:, 0]).squeeze(1),
            energies[:, 0],
            memory.extended[owner],
            memory.first[owner],
            memory.extension_inputs.shape[1],
        )
        return Step(log_probs, state, energies[:, 0].softmax(-1))

    def run(self, tokens: Tensor, cache: Cache, memory: Source) -> tuple[Tensor, Tensor, Cache]:
        """Read tokens [R, T] of the output space after those in the cache.

        Returns states [R, T, D], energies of the copy attention [R, T, S] and the new cache.
        """
        x = self.embed(tokens, cache.length, memory)
        states, cache, energies = self.decoder(x, cache, memory.layers, memory.mask, memory.sharing)
        if self.pointer_query is not None and memory.pointer_keys is not None:
            queries = memory.sharing.join(self.pointer_query(states))
            energies = queries @ memory.pointer_keys.transpose(1, 2) / self.scale
            energies = memory.sharing.part(energies, tokens.shape[1])
        copyable = memory.copyable[memory.sharing.owner]
        return states, energies.masked_fill(~copyable[:, None], copy.NEVER), cache

    def embed(self, tokens: Tensor, start: int, memory: Source) -> Tensor:
        """Tokens [R, T] of the output space from position `start` on: [R, T, D]."""
        x = self.encoder.embedding(self.inputs(tokens, memory)) * self.scale
        x = x + self.positions(start, start + tokens.shape[1])
        if self.codes is not None and memory.codes is not None:
            x = x + self.codes(memory.codes)[:, None] * self.scale  # as words are
        embedded: Tensor = self.dropout(x)
        return embedded

    def inputs(self, tokens: Tensor, memory: Source) -> Tensor:
        """The embedding's ids of tokens [R, T], also of copied ones."""
        known = self.get_buffer("input_ids")[tokens.clamp(max=self.size - 1)]
        if memory.extension_inputs.shape[1] == 0:
            return known
        extension = memory.extension_inputs[memory.sharing.owner]
        copied = extension.gather(1, (tokens - self.size).clamp(min=0))
        return torch.where(tokens < self.size, known, copied)

    def log_likelihood(
        self, target: Tensor, mask: Tensor, memory: Source, smoothing: float = 0.0
    ) -> Tensor:
        """Teacher-forced log-probabilities of the real tokens of `target` [R, T], in order: [N]."""
        first = target.new_full((len(target), 1), self.special.bos)
        states, energies, _ = self.run(torch.cat([first, target[:, :-1]], 1), Cache(), memory)
        rows, _ = mask.nonzero(as_tuple=True)
        return copy.target_log_prob(
            states[mask],
            self.output,
            self.gate(states[mask]).squeeze(1),
            energies[mask],
            memory.extended[memory.sharing.owner[rows]],
            target[mask],
            smoothing,
        )


def _copyable(batch: Batch, pad: int) -> Tensor:
    """The positions [B, S] that can be copied: not marks and blanks, which have no output id.

    If a source contains nothing else, they can be copied all the same. That wastes probability, but
    a softmax over no position at all would make arbitrary words certain.
    """
    words = batch.source_mask & (batch.source_extended != pad)
    return words | (batch.source_mask & ~words.any(dim=1, keepdim=True))
