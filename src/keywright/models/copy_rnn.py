"""CopyRNN: one keyphrase at a time (Meng et al. 2017).

The decoder reads the attended source together with the last word, so its steps follow each other;
but phrases are short and those of a document go side by side. Words are produced or copied by one
softmax over the vocabulary and all source positions (Gu et al. 2016), in which copying position j
has the score psi_c(x_j) = tanh(h_j W_c) s_t.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from keywright.config import Count, Fraction
from keywright.data.batch import Batch
from keywright.data.vocab import Lexicon
from keywright.models import _recurrent
from keywright.models._recurrent import Recurrent, State
from keywright.nn.attention import attend
from keywright.nn.copy import NEVER, target_log_prob
from keywright.nn.generator import Step
from keywright.nn.loss import Loss, likelihood_loss

PARADIGM = "one2one"


@dataclass(frozen=True)
class Config(_recurrent.Config):
    """Section 4.2 of Meng et al. (2017)."""

    embedding: Count = 150
    encoder: Count = 300
    decoder: Count = 300
    dropout: Fraction = 0.5


def build(config: Config, vocabulary: Lexicon) -> nn.Module:
    return CopyRNN(config, vocabulary)


@dataclass(frozen=True)
class Memory(_recurrent.Memory):
    copy_keys: Tensor  # [B, S, D] tanh(h_j W_c)


@dataclass(frozen=True)
class Decoded:
    """One step of N phrases of every document."""

    hidden: Tensor  # [B, N, D]
    features: Tensor  # [B, N, D] of the produced word
    copying: Tensor  # [B, N, S] energies of copying
    attention: Tensor  # [B, N, S] energies of attention


class CopyRNN(Recurrent):
    def __init__(self, config: Config, vocabulary: Lexicon):
        super().__init__(config, vocabulary)
        memory, size = 2 * config.encoder, config.decoder
        self.decoder = nn.GRUCell(config.embedding + memory, size)
        self.copy = nn.Linear(memory, size, bias=False)  # W_c
        self.readout = nn.Linear(size + memory + config.embedding, size)
        self.vocabulary = nn.Linear(size, vocabulary.size)

    def encode(self, batch: Batch) -> Memory:
        memory = super().encode(batch)
        return Memory(**vars(memory), copy_keys=self.copy(memory.states).tanh())

    def step(self, tokens: Tensor, state: State, memory: _recurrent.Memory) -> Step:
        assert isinstance(memory, Memory)
        rows = memory.sharing
        embedded = self.embed(tokens.unsqueeze(1), memory)
        decoded = self.decode(rows.join(embedded), rows.join(state.hidden.unsqueeze(1)), memory)
        hidden, features, copying, attention = (
            rows.part(x, 1).squeeze(1)
            for x in (decoded.hidden, decoded.features, decoded.copying, decoded.attention)
        )
        log_probs = self.distribution(self.vocabulary(features), None, copying, memory)
        return Step(log_probs, State(hidden=hidden), attention.softmax(dim=-1))

    def decode(
        self, embedded: Tensor, hidden: Tensor, memory: Memory, counts: Tensor | None = None
    ) -> Decoded:
        """From states [B, N, D] and the words read [B, N, E] to the next states.

        Only the first `counts` [B] phrases of each document are real.
        """
        attention = self.attention(hidden, memory.keys, memory.mask, counts)
        context = attend(attention, memory.states)
        inputs = torch.cat([embedded, context], dim=-1)
        hidden = self.decoder(inputs.flatten(0, 1), hidden.flatten(0, 1)).view_as(hidden)
        dropped = self.dropout(hidden)
        features = self.readout(torch.cat([dropped, inputs], dim=-1)).tanh()
        copying = torch.bmm(dropped, memory.copy_keys.transpose(1, 2))
        copying = copying.masked_fill(~memory.mask.unsqueeze(1), NEVER)
        return Decoded(hidden, features, copying, attention)

    def loss(self, batch: Batch, smoothing: float = 0.0) -> Loss:
        target, mask = _longest_first(*batch.targets)  # [B, N, T]
        memory = self.encode(batch)
        first, state = self.start(memory)
        tokens = first.unsqueeze(1).expand(mask.shape[:2])
        hidden = state.hidden.unsqueeze(1).expand(*tokens.shape, -1)
        rows = []
        for t in range(target.shape[2]):
            counts = mask[:, :, t].sum(dim=1)
            going = int(counts.max())  # phrases that still go on come first
            embedded = self.embed(tokens[:, :going], memory)
            decoded = self.decode(embedded, hidden[:, :going], memory, counts)
            real = mask[:, :going, t]
            source = memory.source[real.nonzero()[:, 0]]
            words = target[:, :going, t][real]
            rows.append((decoded.features[real], decoded.copying[real], source, words))
            hidden, tokens = decoded.hidden, target[:, :, t]
        features, copying, source, words = (torch.cat(column) for column in zip(*rows, strict=True))
        return likelihood_loss(
            target_log_prob(features, self.vocabulary, None, copying, source, words, smoothing)
        )


def _longest_first(target: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """The phrases of each document by falling length: their order means nothing to One2One."""
    order = mask.sum(dim=2).argsort(dim=1, descending=True, stable=True)
    order = order.unsqueeze(2).expand_as(target)
    return target.gather(1, order), mask.gather(1, order)
