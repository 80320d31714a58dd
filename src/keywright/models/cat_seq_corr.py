"""CatSeqCorr: CatSeq with coverage and review attention.

Both are those of CorrRNN (Chen et al. 2018), added to CatSeq by Chan et al. (2019). The attention
depends on how much every source word was attended before, and the produced word also depends on a
second attention, over the earlier states of the decoder, including the initial one.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from keywright.config import Count
from keywright.lexicon import Lexicon
from keywright.models import _recurrent, cat_seq
from keywright.models._recurrent import Memory
from keywright.models.cat_seq import CatSeq, Decoded, build_output
from keywright.nn.attention import attend
from keywright.nn.coverage import CoverageAttention, ReviewAttention


@dataclass(frozen=True)
class Config(cat_seq.Config):
    """The sizes of Chan et al. (2019)."""

    decoder: Count = 300


@dataclass(frozen=True)
class State(_recurrent.State):
    coverage: Tensor  # [R, S] attention summed over earlier steps
    written: Tensor  # [R, t, D] decoder states before `hidden`


class CatSeqCorr(CatSeq):
    graphs = None
    attention: CoverageAttention

    def __init__(self, config: Config, vocabulary: Lexicon):
        super().__init__(config, vocabulary)
        memory, size = 2 * config.encoder, config.decoder
        self.attention = CoverageAttention(size, memory, size)
        self.review = ReviewAttention(size, size, size)
        self.output = build_output(config, vocabulary.size, extra=size)

    def start(self, memory: Memory) -> tuple[Tensor, State]:
        tokens, state = super().start(memory)
        return tokens, State(
            hidden=state.hidden,
            coverage=memory.states.new_zeros(len(tokens), memory.mask.shape[1]),
            written=state.hidden.new_zeros(len(tokens), 0, state.hidden.shape[1]),
        )

    def decode(
        self,
        embedded: Tensor,
        state: _recurrent.State,
        memory: Memory,
        counts: Tensor | None = None,
    ) -> tuple[Decoded, State]:
        assert isinstance(state, State)
        hidden = self.decoder.states(embedded, state.hidden)
        dropped = self.dropout(hidden)
        owner = memory.sharing.owner  # every row has its own coverage and therefore its own keys
        energies, coverage = self.attention.covering(
            dropped, memory.keys[owner], memory.mask[owner], state.coverage
        )
        context = attend(memory.sharing.join(energies), memory.states)
        context = memory.sharing.part(context, embedded.shape[1])
        # Step t reviews all states before it.
        written = torch.cat([state.written, state.hidden.unsqueeze(1), hidden[:, :-1]], dim=1)
        review = attend(self.review.reviewing(dropped, self.review.key(written)), written)
        decoded = Decoded(hidden, dropped, energies, context, embedded, review)
        return decoded, State(hidden=hidden[:, -1], coverage=coverage, written=written)


build = CatSeqCorr
