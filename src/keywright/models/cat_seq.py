"""CatSeq: all keyphrases as one sequence (Yuan et al. 2020, appendix A).

A bidirectional GRU reads the document, a GRU writes the phrases with attention and a pointer
softmax. The recurrence does not depend on the attention, so teacher forcing runs each of them once
over all positions. `CatSeqD`, `CatSeqCorr` and `CatSeqTG` replace one part each.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from keywright.config import Count, Fraction
from keywright.data.batch import Batch
from keywright.data.vocab import BOS, PAD, Lexicon
from keywright.errors import ConfigError
from keywright.nn.attention import AdditiveAttention, attend
from keywright.nn.copy import (
    PointerSoftmax,
    first_positions,
    input_ids,
    log_probs,
    target_log_prob,
)
from keywright.nn.generator import Step
from keywright.nn.loss import Loss
from keywright.nn.rnn import BiGRU
from keywright.nn.rows import TensorRows

PARADIGM = "one2seq"


@dataclass(frozen=True)
class Config:
    """Appendix D; layers whose size it does not give are as wide as the decoder."""

    embedding: Count = 100
    encoder: Count = 150  # units of each direction
    decoder: Count = 150
    dropout: Fraction = 0.1


def build(config: Config, vocabulary: Lexicon) -> nn.Module:
    return CatSeq(config, vocabulary)


@dataclass(frozen=True)
class Memory(TensorRows):
    """A document as the decoder sees it."""

    states: Tensor  # [R, S, M] encoder states, M = 2 * encoder
    keys: Tensor  # [R, S, A] their part of the attention
    mask: Tensor  # [R, S]
    final: Tensor  # [R, M] the encoder's final state
    source: Tensor  # [R, S] ids of the output space
    first: Tensor  # [R, S] see `first_positions`
    extension_inputs: Tensor  # [R, X]


@dataclass(frozen=True)
class State(TensorRows):
    hidden: Tensor  # [R, D] of the decoder


@dataclass(frozen=True)
class Decoded:
    """What the decoder makes of T tokens, teacher-forced or (T = 1) its own."""

    hidden: Tensor  # [R, T, D] recurrent states
    state: Tensor  # [R, T, D] the same after dropout, for attention and output
    energies: Tensor  # [R, T, S] of attention
    context: Tensor  # [R, T, M] attended source
    extra: Tensor | None = None  # [R, T, E] further features of the produced word


class CatSeq(nn.Module):
    rows_per_document = 1

    def __init__(self, config: Config, vocabulary: Lexicon):
        super().__init__()
        if vocabulary.input_size != vocabulary.size:
            raise ConfigError(
                "data.vocabulary: this model reads and writes the same words; set it to 'words'"
            )
        memory = 2 * config.encoder
        self.vocabulary_size = vocabulary.size
        self.embedding = nn.Embedding(vocabulary.size, config.embedding, padding_idx=PAD)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        self.encoder = BiGRU(config.embedding, config.encoder)
        self.bridge = nn.Linear(memory, config.decoder)
        self.decoder = nn.GRU(config.embedding, config.decoder, batch_first=True)
        self.attention = AdditiveAttention(config.decoder, memory, config.decoder)
        self.output = PointerSoftmax(config.decoder, memory, vocabulary.size)
        self.dropout = nn.Dropout(config.dropout)

    def encode(self, batch: Batch) -> Memory:
        embedded = self.dropout(self.embedding(batch.source))
        states, final = self.read(embedded, batch)
        states = self.dropout(states)
        return Memory(
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
        tokens = torch.full((len(memory.final),), BOS, device=memory.final.device)
        return tokens, State(hidden=self.bridge(memory.final).tanh())  # eq. 8

    def step(self, tokens: Tensor, state: State, memory: Memory) -> Step:
        embedded = self.embed(tokens.unsqueeze(1), memory)
        decoded, state = self.decode(embedded, state, memory)
        features, gate = self.output(*_features(decoded, slice(None)))
        energies = decoded.energies.squeeze(1)
        distribution = log_probs(
            self.output.vocabulary(features.squeeze(1)),
            gate.squeeze(1),
            energies,
            memory.source,
            memory.first,
            memory.extension_inputs.shape[1],
        )
        return Step(distribution, state, attention=energies.softmax(dim=-1))

    def embed(self, tokens: Tensor, memory: Memory) -> Tensor:
        """Embeddings [R, T, E] of output-space tokens [R, T]."""
        ids = input_ids(tokens, memory.extension_inputs, self.vocabulary_size)
        embedded: Tensor = self.dropout(self.embedding(ids))
        return embedded

    def decode(
        self, embedded: Tensor, state: State, memory: Memory, counts: Tensor | None = None
    ) -> tuple[Decoded, State]:
        """Read T tokens [R, T, E], of which the first `counts` [R] of each row are real."""
        hidden, _ = self.decoder(embedded, state.hidden.unsqueeze(0))  # eq. 7
        dropped = self.dropout(hidden)
        energies = self.attention(dropped, memory.keys, memory.mask, counts)  # eq. 9
        context = attend(energies, memory.states)  # eq. 10
        return Decoded(hidden, dropped, energies, context), State(hidden=hidden[:, -1])

    def loss(self, batch: Batch) -> Loss:
        _, _, log_prob = self.teach(batch)
        return likelihood_loss(log_prob)

    def target_log_probs(self, batch: Batch) -> Tensor:
        """log p of every target token given those before it [B, T]; 0 at pads."""
        assert batch.target_mask is not None
        _, _, log_prob = self.teach(batch)
        return log_prob.new_zeros(batch.target_mask.shape).masked_scatter(
            batch.target_mask, log_prob
        )

    def teach(self, batch: Batch) -> tuple[Memory, Decoded, Tensor]:
        """Run over the targets; the log-probabilities [N] are those of real target tokens."""
        assert batch.target is not None
        assert batch.target_mask is not None
        memory = self.encode(batch)
        first, state = self.start(memory)
        tokens = torch.cat([first.unsqueeze(1), batch.target[:, :-1]], dim=1)
        mask = batch.target_mask
        decoded, _ = self.decode(self.embed(tokens, memory), state, memory, mask.sum(dim=1))
        features, gate = self.output(*_features(decoded, mask))
        log_prob = target_log_prob(
            features,
            self.output.vocabulary,
            gate,
            decoded.energies[mask],
            memory.source[mask.nonzero()[:, 0]],
            batch.target[mask],
        )
        return memory, decoded, log_prob


def likelihood_loss(log_prob: Tensor) -> Loss:
    """The negative log-likelihood of target tokens [N]."""
    total = -log_prob.sum()
    return Loss(total, torch.tensor(len(log_prob)), {"nll": total.detach()})


def _features(decoded: Decoded, index: Tensor | slice) -> tuple[Tensor, Tensor, Tensor | None]:
    """The inputs of the output layer at some positions of [R, T]."""
    extra = None if decoded.extra is None else decoded.extra[index]
    return decoded.state[index], decoded.context[index], extra
