"""ExHiRD: exclusive hierarchical decoding (Chen et al. 2020).

A phrase-level GRU takes a step for every phrase and a word-level GRU one for every word, which
starts from the phrase's state. Both attend to the source, and a word's attention is rescaled by its
phrase's. Every word is fed the attentional vector of the word before it, so that teacher forcing
has to go word by word; the output layer still runs once over all of them.

Exclusion keeps phrases from beginning alike. The soft one is a loss (ExHiRD-s, `soft_exclusion`).
The hard one is a rule of decoding (ExHiRD-h): `[decode] unique_starts` and `starts_window`.

The release writes `<p_start>` or `<a_start>` before every phrase. Here the mark that stands before
a phrase anyhow tells present from absent ones, with `[data] mark_absent`: `<peos>` precedes the
first absent phrase, and the phrase-level decoder reads it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from keywright.config import Count, Fraction, NonNegative
from keywright.data.batch import Batch
from keywright.data.targets import DELIMITERS
from keywright.data.vocab import BOS, PAD, Lexicon
from keywright.errors import ConfigError
from keywright.nn.copy import NEVER, first_positions, input_ids, log_probs, target_log_prob
from keywright.nn.generator import Step
from keywright.nn.loss import Loss, likelihood_loss
from keywright.nn.rnn import BiGRU
from keywright.nn.rows import TensorRows

PARADIGM = "one2seq"


@dataclass(frozen=True)
class Config:
    """Section 4.4 and the release: 100, 300 units in all, two layers of encoder, no dropout."""

    embedding: Count = 100
    encoder: Count = 150  # units of each direction; the decoders have twice as many
    encoder_layers: Count = 2
    dropout: Fraction = 0.0
    soft_exclusion: NonNegative = 0.0  # weight of the exclusion loss; 1 in ExHiRD-s
    window: Count = 4  # phrases back that the loss looks


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


class ExHiRD(nn.Module):
    rows_per_document = 1

    def __init__(self, config: Config, vocabulary: Lexicon):
        super().__init__()
        if vocabulary.input_size != vocabulary.size:
            raise ConfigError(
                "data.vocabulary: this model reads and writes the same words; set it to 'words'"
            )
        size = 2 * config.encoder
        self.config = config
        self.vocabulary_size = vocabulary.size
        self.embedding = nn.Embedding(vocabulary.size, config.embedding, padding_idx=PAD)
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
        nothing = torch.zeros_like(memory.final)
        state = State(
            phrase=memory.final,
            energies=torch.zeros(memory.mask.shape, device=memory.mask.device),
            word=nothing,
            feed=nothing,
        )
        return torch.full((len(nothing),), BOS, device=nothing.device), state

    def step(self, tokens: Tensor, state: State, memory: Memory) -> Step:
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
        """Read one token [R] per row: the energies of copying [R, S] and the new state.

        What is predicted next depends on its `feed`, the attentional vector.
        """
        state = self.begin_phrases(tokens, state, memory)
        ids = input_ids(tokens.unsqueeze(1), memory.extension_inputs, self.vocabulary_size)
        embedded = self.dropout(self.embedding(ids.squeeze(1)))
        word = self.word_decoder(torch.cat([embedded, state.feed], dim=-1), state.word)
        # The product of both attentions, normalised again, is the softmax of summed energies.
        energies = self._attend(self.word_attention(word), memory) + state.energies
        context = torch.bmm(energies.softmax(-1).unsqueeze(1), memory.states).squeeze(1)
        feed = self.dropout(self.combine(torch.cat([context, word], dim=-1)).tanh())
        return energies, State(state.phrase, state.energies, word, feed)

    def begin_phrases(self, tokens: Tensor, state: State, memory: Memory) -> State:
        """Where a mark is read, the phrase level goes on and the word level starts from it.

        The phrase-level decoder reads the attentional vector that predicted the mark.
        """
        begins = torch.isin(tokens, tokens.new_tensor((BOS, *DELIMITERS))).unsqueeze(1)
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
            loss.count,
            {**loss.parts, "exclusion": exclusion.detach()},
        )

    def target_log_probs(self, batch: Batch) -> Tensor:
        """log p of every target token given those before it [B, T]; 0 at pads."""
        target, mask = batch.targets
        memory = self.encode(batch)
        log_prob = self._log_prob(*self.teach(target, memory), target, mask, memory)
        return log_prob.new_zeros(mask.shape).masked_scatter(mask, log_prob)

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
        """The sum of -log(1 - p) of beginning a phrase as one of the last `window` ones began.

        Words that the phrase rightly begins with are no mistake and do not count.
        """
        row, at, word = previous_starts(target, mask, self.config.window)
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
        """Of the real target tokens, in order: [N]."""
        return target_log_prob(
            features[mask],
            self.output,
            self.gate(features[mask]).squeeze(1),
            energies[mask],
            memory.source[mask.nonzero()[:, 0]],
            target[mask],
            smoothing,
        )


def build(config: Config, vocabulary: Lexicon) -> nn.Module:
    return ExHiRD(config, vocabulary)


def previous_starts(target: Tensor, mask: Tensor, window: int) -> tuple[Tensor, Tensor, Tensor]:
    """Rows, positions of phrases' first words, and first words of phrases before them: [E] each."""
    found: list[tuple[int, int, int]] = []
    for row, (tokens, real) in enumerate(zip(target.tolist(), mask.tolist(), strict=True)):
        starts: list[int] = []
        for at, token in enumerate(tokens[: sum(real)]):
            begins = at == 0 or tokens[at - 1] in DELIMITERS
            if begins and token not in DELIMITERS:
                recent = dict.fromkeys(starts[-window:])
                found += [(row, at, before) for before in recent if before != token]
                starts.append(token)
    columns = torch.tensor(found, dtype=torch.long, device=target.device).view(-1, 3)
    return columns[:, 0], columns[:, 1], columns[:, 2]
