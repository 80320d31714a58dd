"""ExHiRD: exclusive hierarchical decoding (Chen et al. 2020).

A phrase-level GRU takes one step for every phrase. A word-level GRU starts from the state of the
phrase and takes one step for every word. Both attend to the source, and the attention of a word is
rescaled by that of its phrase. The input of every word includes the attentional vector of the word
before it, so teacher forcing is a loop over words; the output layer is computed once for all.

Exclusion keeps phrases from starting with the same word. Soft exclusion is a loss (ExHiRD-s,
`soft_exclusion`), hard exclusion is a rule of decoding (ExHiRD-h): `unique_starts` and
`starts_window` of `[decode]`.

The release writes `<p_start>` or `<a_start>` before every phrase. Here, with `mark_absent` of
`[data]`, the delimiter before a phrase distinguishes the two: `<peos>` precedes the first absent
phrase, and the phrase-level decoder reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from keywright.config import Count, Fraction, NonNegative
from keywright.data.batch import Batch
from keywright.lexicon import Lexicon
from keywright.nn.copy import (
    NEVER,
    first_positions,
    input_ids,
    log_probs,
    require_shared_ids,
    target_log_prob,
)
from keywright.nn.generator import Step
from keywright.nn.loss import Loss, at_targets, likelihood_loss
from keywright.nn.model import Model
from keywright.nn.rnn import BiGRU
from keywright.nn.rows import TensorRows


@dataclass(frozen=True)
class Config:
    """Section 4.4 and the release: embeddings of 100, 300 units, two encoder layers, no dropout."""

    embedding: Count = 100
    encoder: Count = 150  # units of each direction; the decoders have twice as many
    encoder_layers: Count = 2
    dropout: Fraction = 0.0
    soft_exclusion: NonNegative = 0.0  # weight of the exclusion loss; 1 in ExHiRD-s
    window: Count = 4  # preceding phrases that the exclusion loss compares with


@dataclass(frozen=True)
class Memory(TensorRows):
    states: Tensor  # [R, S, D] of the encoder
    mask: Tensor  # [R, S]
    final: Tensor  # [R, D] the encoder's final state
    source: Tensor  # [R, S] ids of the output space
    first: Tensor  # [R, S] see `first_positions`
    extension_inputs: Tensor  # [R, X]


@dataclass(frozen=True)
class State(TensorRows):
    phrase: Tensor  # [R, D] of the phrase-level decoder
    energies: Tensor  # [R, S] its attention
    word: Tensor  # [R, D] of the word-level decoder
    feed: Tensor  # [R, D] the latest attentional vector


class ExHiRD(Model[Memory, State]):
    paradigm = "one2seq"

    def __init__(self, config: Config, vocabulary: Lexicon):
        super().__init__()
        require_shared_ids(vocabulary)
        size = 2 * config.encoder
        self.config = config
        self.vocabulary_size = vocabulary.size
        self.special = vocabulary.special
        self.embedding = nn.Embedding(
            vocabulary.input_size, config.embedding, padding_idx=self.special.pad
        )
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        widths = [config.embedding] + [size] * (config.encoder_layers - 1)
        self.encoder = nn.ModuleList(BiGRU(width, config.encoder) for width in widths)
        self.phrase_decoder = nn.GRUCell(size, size)
        self.phrase_attention = nn.Linear(size, size, bias=False)
        self.word_decoder = nn.GRUCell(config.embedding + size, size)
        self.word_attention = nn.Linear(size, size, bias=False)
        self.combine = nn.Linear(2 * size, size, bias=False)
        self.gate = nn.Linear(size, 1)  # produce (positive) or copy
        self.output = nn.Linear(size, vocabulary.size)
        self.dropout = nn.Dropout(config.dropout)

    def encode(self, batch: Batch) -> Memory:
        states = self.embedding(batch.source)
        final = states[:, 0]
        for layer in self.encoder:
            states, final = layer(self.dropout(states), batch.source_mask)
        return Memory(
            states=states,
            mask=batch.source_mask,
            final=final,
            source=batch.source_extended,
            first=first_positions(batch.source_extended),
            extension_inputs=batch.extension_inputs,
        )

    def start(self, memory: Memory) -> tuple[Tensor, State]:
        zeros = torch.zeros_like(memory.final)
        state = State(
            phrase=memory.final,
            energies=torch.zeros(memory.mask.shape, device=memory.mask.device),
            word=zeros,
            feed=zeros,
        )
        return torch.full((len(zeros),), self.special.bos, device=zeros.device), state

    def step(self, tokens: Tensor, state: State, memory: Memory) -> Step[State]:
        energies, state = self.read(tokens, state, memory)
        distribution = log_probs(
            self.output(state.feed),
            self.gate(state.feed).squeeze(1),
            energies,
            memory.source,
            memory.first,
            memory.extension_inputs.shape[1],
        )
        return Step(distribution, state, attention=energies.softmax(dim=-1))

    def read(self, tokens: Tensor, state: State, memory: Memory) -> tuple[Tensor, State]:
        """Read one token [R] per row; returns the energies of copying [R, S] and the new state.

        The next prediction depends on its `feed`, the attentional vector.
        """
        state = self.begin_phrases(tokens, state, memory)
        ids = input_ids(tokens.unsqueeze(1), memory.extension_inputs, self.vocabulary_size)
        embedded = self.dropout(self.embedding(ids.squeeze(1)))
        word = self.word_decoder(torch.cat([embedded, state.feed], dim=-1), state.word)
        # The normalised product of both attentions is the softmax of the sum of their energies.
        energies = self._attend(self.word_attention(word), memory) + state.energies
        context = torch.bmm(energies.softmax(-1).unsqueeze(1), memory.states).squeeze(1)
        feed = self.dropout(self.combine(torch.cat([context, word], dim=-1)).tanh())
        return energies, State(state.phrase, state.energies, word, feed)

    def begin_phrases(self, tokens: Tensor, state: State, memory: Memory) -> State:
        """After a delimiter, the phrase level takes a step and the word level starts from it.

        The phrase-level decoder reads the attentional vector that predicted the delimiter.
        """
        before = (self.special.bos, *self.special.delimiters)
        begins = torch.isin(tokens, tokens.new_tensor(before)).unsqueeze(1)
        phrase = self.phrase_decoder(state.feed, state.phrase)
        energies = self._attend(self.phrase_attention(phrase), memory)
        return State(
            phrase=phrase.where(begins, state.phrase),
            energies=energies.where(begins, state.energies),
            word=phrase.where(begins, state.word),
            feed=torch.zeros_like(state.feed).where(begins, state.feed),
        )

    def _attend(self, query: Tensor, memory: Memory) -> Tensor:
        """Energies [R, S] of a query [R, D]."""
        energies = torch.bmm(memory.states, query.unsqueeze(2)).squeeze(2)
        return energies.masked_fill(~memory.mask, NEVER)

    def loss(self, batch: Batch, smoothing: float = 0.0) -> Loss:
        target, mask = batch.targets
        memory = self.encode(batch)
        features, energies = self.teach(target, memory)
        loss = likelihood_loss(self._log_prob(features, energies, target, mask, memory, smoothing))
        if not self.config.soft_exclusion:
            return loss
        exclusion = self.exclusion_loss(features, energies, target, mask, memory)
        return Loss(
            loss.total + self.config.soft_exclusion * exclusion,
            loss.divisor,
            {**loss.parts, "exclusion": exclusion.detach()},
        )

    def score(self, batch: Batch) -> Tensor:
        target, mask = batch.targets
        memory = self.encode(batch)
        return at_targets(self._log_prob(*self.teach(target, memory), target, mask, memory), mask)

    def teach(self, target: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """Attentional vectors [B, T, D] and energies [B, T, S] that predict `target` [B, T]."""
        tokens, state = self.start(memory)
        features, energies = [], []
        for t in range(target.shape[1]):
            energy, state = self.read(tokens, state, memory)
            features.append(state.feed)
            energies.append(energy)
            tokens = target[:, t]
        return torch.stack(features, dim=1), torch.stack(energies, dim=1)

    def exclusion_loss(
        self, features: Tensor, energies: Tensor, target: Tensor, mask: Tensor, memory: Memory
    ) -> Tensor:
        """The sum of -log(1 - p) of starting a phrase with a start of the last `window` phrases.

        A start that is the correct one of this phrase is not counted.
        """
        delimiters = self.special.delimiters
        row, at, word = previous_starts(target, mask, self.config.window, delimiters)
        if not len(row):
            return features.new_zeros(())
        log_prob = target_log_prob(
            features[row, at],
            self.output,
            self.gate(features[row, at]).squeeze(1),
            energies[row, at],
            memory.source[row],
            word,
        )
        return -torch.log1p(-log_prob.exp().clamp(max=1 - 1e-6)).sum()

    def _log_prob(
        self,
        features: Tensor,
        energies: Tensor,
        target: Tensor,
        mask: Tensor,
        memory: Memory,
        smoothing: float = 0.0,
    ) -> Tensor:
        """The log-probabilities of the real target tokens, in order: [N]."""
        return target_log_prob(
            features[mask],
            self.output,
            self.gate(features[mask]).squeeze(1),
            energies[mask],
            memory.source[mask.nonzero()[:, 0]],
            target[mask],
            smoothing,
        )


build = ExHiRD


def previous_starts(
    target: Tensor, mask: Tensor, window: int, delimiters: Sequence[int]
) -> tuple[Tensor, Tensor, Tensor]:
    """Pairs of a phrase and a different start of one of the `window` phrases before it.

    Returns rows, positions of the first word of the phrase, and the other starts: [E] each.
    """
    found: list[tuple[int, int, int]] = []
    for row, (tokens, real) in enumerate(zip(target.tolist(), mask.tolist(), strict=True)):
        starts: list[int] = []
        for at, token in enumerate(tokens[: sum(real)]):
            begins = at == 0 or tokens[at - 1] in delimiters
            if begins and token not in delimiters:
                recent = dict.fromkeys(starts[-window:])
                found += [(row, at, before) for before in recent if before != token]
                starts.append(token)
    columns = torch.tensor(found, dtype=torch.long, device=target.device).view(-1, 3)
    return columns[:, 0], columns[:, 1], columns[:, 2]
