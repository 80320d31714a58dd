"""CopyRNN: one keyphrase at a time (Meng et al. 2017).

The decoder reads the attended source together with the last word, so its steps must be computed one
after the other; but phrases are short, and those of a document are computed in parallel. Words are
produced or copied by one softmax over the vocabulary and all source positions (Gu et al. 2016), in
which copying position j has the score psi_c(x_j) = tanh(h_j W_c) s_t.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from keywright.config import Count, Fraction
from keywright.data.batch import Batch
from keywright.lexicon import Lexicon
from keywright.models import _recurrent
from keywright.models._recurrent import Recurrent, State
from keywright.nn.attention import attend
from keywright.nn.copy import NEVER, target_log_prob
from keywright.nn.generator import Step
from keywright.nn.loss import Loss, likelihood_loss


@dataclass(frozen=True)
class Config(_recurrent.Config):
    """Section 4.2 of Meng et al. (2017)."""

    embedding: Count = 150
    encoder: Count = 300
    decoder: Count = 300
    dropout: Fraction = 0.5


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
    paradigm = "one2one"

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

    def step(self, tokens: Tensor, state: State, memory: _recurrent.Memory) -> Step[State]:
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
        """The next step after states [B, N, D] and input words [B, N, E].

        Only the first `counts` [B] phrases of each document are real (default: all).
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
        log_prob, _ = self.teach(batch, smoothing)
        return likelihood_loss(log_prob)

    def score(self, batch: Batch) -> Tensor:
        _, mask = batch.targets
        log_prob, at = self.teach(batch)
        return log_prob.new_zeros(mask.shape).index_put(at, log_prob).flatten(0, 1)

    def teach(self, batch: Batch, smoothing: float = 0.0) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The log-probabilities [K] of all real target tokens, and where they are in the targets.

        The latter are indices of document, phrase and position, [K] each.
        """
        target, mask, order = _longest_first(*batch.targets)  # [B, N, T]
        memory = self.encode(batch)
        features, copying, document, place = [], [], [], []
        for t, decoded in enumerate(self._decode_targets(target, mask, memory)):
            at = mask[:, : decoded.hidden.shape[1], t].nonzero(as_tuple=True)
            features.append(decoded.features[at])
            copying.append(decoded.copying[at])
            document.append(at[0])
            place.append(at[1])
        steps = [torch.full_like(documents, t) for t, documents in enumerate(document)]
        row, number, position = torch.cat(document), torch.cat(place), torch.cat(steps)
        log_prob = target_log_prob(
            torch.cat(features),
            self.vocabulary,
            None,
            torch.cat(copying),
            memory.source[row],
            target[row, number, position],
            smoothing,
        )
        return log_prob, (row, order[row, number], position)

    def _decode_targets(self, target: Tensor, mask: Tensor, memory: Memory) -> Iterator[Decoded]:
        """The steps that read `target` [B, N, T], without phrases that have ended everywhere."""
        first, state = self.start(memory)
        tokens = first.unsqueeze(1).expand(mask.shape[:2])
        hidden = state.hidden.unsqueeze(1).expand(*tokens.shape, -1)
        for t in range(target.shape[2]):
            counts = mask[:, :, t].sum(dim=1)
            active = int(counts.max())  # the longest phrases come first
            embedded = self.embed(tokens[:, :active], memory)
            decoded = self.decode(embedded, hidden[:, :active], memory, counts)
            yield decoded
            hidden, tokens = decoded.hidden, target[:, :, t]


build = CopyRNN


def _longest_first(target: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The phrases of each document by decreasing length, and their original numbers [B, N].

    Their order does not matter to One2One, and phrases that have ended can be left out at the end.
    """
    order = mask.sum(dim=2).argsort(dim=1, descending=True, stable=True)
    whole = order.unsqueeze(2).expand_as(target)
    return target.gather(1, whole), mask.gather(1, whole), order
