"""CatSeqCorr: CatSeq that remembers what it covered and what it wrote.

The coverage and review attention of CorrRNN (Chen et al. 2018) in CatSeq, as Chan et al. (2019)
combine them: attention sees how much every source word was attended before, and the produced word
also depends on a second attention over the decoder's earlier states, its initial one included.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from keywright.config import Count
from keywright.data.vocab import Lexicon
from keywright.models import _recurrent, cat_seq
from keywright.models._recurrent import Memory
from keywright.models.cat_seq import CatSeq, Decoded
from keywright.nn.attention import attend
from keywright.nn.copy import PointerSoftmax
from keywright.nn.coverage import CoverageAttention, ReviewAttention

PARADIGM = cat_seq.PARADIGM


@dataclass(frozen=True)
class Config(_recurrent.Config):
    """The sizes of Chan et al. (2019)."""

    decoder: Count = 300


def build(config: Config, vocabulary: Lexicon) -> nn.Module:
    return CatSeqCorr(config, vocabulary)


@dataclass(frozen=True)
class State(_recurrent.State):
    coverage: Tensor  # [R, S] attention summed over earlier steps
    written: Tensor  # [R, t, D] decoder states before `hidden`


class CatSeqCorr(CatSeq):
    attention: CoverageAttention

    def __init__(self, config: Config, vocabulary: Lexicon):
        super().__init__(config, vocabulary)
        memory, size = 2 * config.encoder, config.decoder
        self.attention = CoverageAttention(size, memory, size)
        self.review = ReviewAttention(size, size, size)
        self.output = PointerSoftmax(size, memory, vocabulary.size, extra=size)

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
        hidden, _ = self.decoder(embedded, state.hidden.unsqueeze(0))
        dropped = self.dropout(hidden)
        owner = memory.sharing.owner  # every row has a coverage, and with it keys, of its own
        energies, coverage = self.attention.covering(
            dropped, memory.keys[owner], memory.mask[owner], state.coverage
        )
        context = attend(memory.sharing.join(energies), memory.states)
        context = memory.sharing.part(context, embedded.shape[1])
        # What step t reviews ends with the state before it.
        written = torch.cat([state.written, state.hidden.unsqueeze(1), hidden[:, :-1]], dim=1)
        review = attend(self.review.reviewing(dropped, self.review.key(written)), written)
        decoded = Decoded(hidden, dropped, energies, context, review)
        return decoded, State(hidden=hidden[:, -1], coverage=coverage, written=written)
