"""Shared by recurrent models: a bidirectional GRU as encoder, and the decoder's initial state.

Equation numbers are those of Yuan et al. (2020), appendix A.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from keywright.config import Count, Fraction
from keywright.data.batch import Batch
from keywright.lexicon import Lexicon
from keywright.nn.attention import AdditiveAttention, Attention
from keywright.nn.copy import first_positions, input_ids, log_probs, require_shared_ids
from keywright.nn.model import Model
from keywright.nn.rnn import BiGRU
from keywright.nn.rows import SharedRows, Sharing, TensorRows


@dataclass(frozen=True)
class Config:
    """Yuan et al. (2020), appendix D; layers whose size is not given are as wide as the decoder."""

    embedding: Count = 100
    encoder: Count = 150  # units of each direction
    decoder: Count = 150
    dropout: Fraction = 0.1


def check_bridge(bridge: str, config: Config) -> None:
    """An error if the decoder cannot start with a copy of the encoder's final states."""
    if bridge == "copy" and config.decoder != 2 * config.encoder:
        raise ValueError(
            f"bridge 'copy' needs a decoder of 2 * encoder = {2 * config.encoder} units, not "
            f"{config.decoder}"
        )


@dataclass(frozen=True)
class Memory(SharedRows):
    """B documents as the decoder sees them; the rows of a document share it."""

    states: Tensor  # [B, S, M] encoder states, M = 2 * encoder
    keys: Tensor  # [B, S, A] the same, projected for the attention
    mask: Tensor  # [B, S]
    final: Tensor  # [B, M] the encoder's final state
    source: Tensor  # [B, S] ids of the output space
    first: Tensor  # [B, S] see `first_positions`
    extension_inputs: Tensor  # [B, X]


@dataclass(frozen=True)
class State(TensorRows):
    hidden: Tensor  # [R, D] of the decoder


class Recurrent(Model[Memory, State]):
    """The encoder, and what the decoders have in common."""

    attention: Attention
    recurrent = True

    def __init__(self, config: Config, vocabulary: Lexicon):
        super().__init__()
        require_shared_ids(vocabulary)
        memory = 2 * config.encoder
        self.vocabulary_size = vocabulary.size
        self.special = vocabulary.special
        self.embedding = nn.Embedding(
            vocabulary.input_size, config.embedding, padding_idx=self.special.pad
        )
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        self.encoder = BiGRU(config.embedding, config.encoder)
        self.bridge = nn.Linear(memory, config.decoder)
        self.attention = AdditiveAttention(config.decoder, memory, config.decoder)
        self.dropout = nn.Dropout(config.dropout)

    def encode(self, batch: Batch) -> Memory:
        embedded = self.dropout(self.embedding(batch.source))
        states, final = self.read(embedded, batch)
        return self.remember(self.dropout(states), final, batch)

    def remember(self, states: Tensor, final: Tensor, batch: Batch) -> Memory:
        """The documents of a batch whose encoder states are these."""
        each = torch.arange(len(batch), device=states.device)
        return Memory(
            sharing=Sharing.of(each, len(batch)),
            states=states,
            keys=self.attention.key(states),
            mask=batch.source_mask,
            final=final,
            source=batch.source_extended,
            first=first_positions(batch.source_extended),
            extension_inputs=batch.extension_inputs,
        )

    def read(self, embedded: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Encoder states [B, S, M] and final states [B, M] (eq. 6)."""
        states, final = self.encoder(embedded, batch.source_mask)
        return states, final

    def start(self, memory: Memory) -> tuple[Tensor, State]:
        final = memory.final[memory.sharing.owner]
        tokens = torch.full((len(final),), self.special.bos, device=final.device)
        return tokens, State(hidden=self.bridge(final).tanh())  # eq. 8

    def embed(self, tokens: Tensor, memory: Memory) -> Tensor:
        """Embeddings [R, T, E] of output-space tokens [R, T]."""
        extension = memory.extension_inputs[memory.sharing.owner]
        ids = input_ids(tokens, extension, self.vocabulary_size)
        embedded: Tensor = self.dropout(self.embedding(ids))
        return embedded

    def distribution(
        self, logits: Tensor, gate: Tensor | None, energies: Tensor, memory: Memory
    ) -> Tensor:
        """log p [R, V + X] from logits of producing [R, V] and energies of copying [R, S]."""
        owner = memory.sharing.owner
        extension = memory.extension_inputs.shape[1]
        source, first = memory.source[owner], memory.first[owner]
        return log_probs(logits, gate, energies, source, first, extension)
