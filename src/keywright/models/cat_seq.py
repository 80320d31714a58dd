"""CatSeq: all keyphrases as one sequence (Yuan et al. 2020, appendix A).

A bidirectional GRU reads the document, a GRU writes the phrases with attention and a pointer
softmax. The recurrence does not depend on the attention, so teacher forcing runs each of them once
over all positions. `CatSeqD`, `CatSeqCorr` and `CatSeqTG` replace one part each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from keywright.data.batch import Batch
from keywright.data.vocab import Lexicon
from keywright.models._recurrent import Config, Memory, Recurrent, State
from keywright.nn.attention import attend
from keywright.nn.copy import PointerSoftmax, target_log_prob
from keywright.nn.generator import Step
from keywright.nn.loss import Loss, likelihood_loss

PARADIGM = "one2seq"


def build(config: Config, vocabulary: Lexicon) -> nn.Module:
    return CatSeq(config, vocabulary)


@dataclass(frozen=True)
class Decoded:
    """What the decoder makes of T tokens, teacher-forced or (T = 1) its own."""

    hidden: Tensor  # [R, T, D] recurrent states
    state: Tensor  # [R, T, D] the same after dropout, for attention and output
    energies: Tensor  # [R, T, S] of attention
    context: Tensor  # [R, T, M] attended source
    extra: Tensor | None = None  # [R, T, E] further features of the produced word


class CatSeq(Recurrent):
    def __init__(self, config: Config, vocabulary: Lexicon):
        super().__init__(config, vocabulary)
        self.decoder = nn.GRU(config.embedding, config.decoder, batch_first=True)
        self.output = PointerSoftmax(config.decoder, 2 * config.encoder, vocabulary.size)

    def step(self, tokens: Tensor, state: State, memory: Memory) -> Step:
        embedded = self.embed(tokens.unsqueeze(1), memory)
        decoded, state = self.decode(embedded, state, memory)
        features, gate = self.output(*_features(decoded, (slice(None), 0)))
        energies = decoded.energies[:, 0]
        log_probs = self.distribution(self.output.vocabulary(features), gate, energies, memory)
        return Step(log_probs, state, attention=energies.softmax(dim=-1))

    def decode(
        self, embedded: Tensor, state: State, memory: Memory, counts: Tensor | None = None
    ) -> tuple[Decoded, State]:
        """Read T tokens [R, T, E] of every row.

        When each document has one row, only the first `counts` [B] of its tokens may be real.
        """
        hidden, _ = self.decoder(embedded, state.hidden.unsqueeze(0))  # eq. 7
        dropped = self.dropout(hidden)
        queries = memory.sharing.join(dropped)
        energies = self.attention(queries, memory.keys, memory.mask, counts)  # eq. 9
        context = attend(energies, memory.states)  # eq. 10
        energies, context = (memory.sharing.part(x, embedded.shape[1]) for x in (energies, context))
        return Decoded(hidden, dropped, energies, context), State(hidden=hidden[:, -1])

    def loss(self, batch: Batch, smoothing: float = 0.0) -> Loss:
        _, _, log_prob = self.teach(batch, smoothing)
        return likelihood_loss(log_prob)

    def target_log_probs(self, batch: Batch) -> Tensor:
        """log p of every target token given those before it [B, T]; 0 at pads."""
        _, mask = batch.targets
        _, _, log_prob = self.teach(batch)
        return log_prob.new_zeros(mask.shape).masked_scatter(mask, log_prob)

    def teach(self, batch: Batch, smoothing: float = 0.0) -> tuple[Memory, Decoded, Tensor]:
        """Run over the targets; the log-probabilities [N] are those of real target tokens."""
        target, mask = batch.targets
        memory = self.encode(batch)
        first, state = self.start(memory)
        tokens = torch.cat([first.unsqueeze(1), target[:, :-1]], dim=1)
        decoded, _ = self.decode(self.embed(tokens, memory), state, memory, mask.sum(dim=1))
        features, gate = self.output(*_features(decoded, mask))
        log_prob = target_log_prob(
            features,
            self.output.vocabulary,
            gate,
            decoded.energies[mask],
            memory.source[mask.nonzero()[:, 0]],
            target[mask],
            smoothing,
        )
        return memory, decoded, log_prob


def _features(decoded: Decoded, index: Any) -> tuple[Tensor, Tensor, Tensor | None]:
    """The inputs of the output layer at some positions of [R, T]."""
    extra = None if decoded.extra is None else decoded.extra[index]
    return decoded.state[index], decoded.context[index], extra
