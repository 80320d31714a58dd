"""CatSeqTG: CatSeq whose encoder is guided by the title.

The encoder of TG-Net (Chen et al. 2019) in CatSeq, as Chan et al. (2019) combine them. Every source
word gathers what the title says about it (matching layer), a second bidirectional GRU merges the
two through its gates (merging layer), and the merged states are averaged with those before.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from keywright.config import Count, Probability
from keywright.data.batch import Batch
from keywright.data.vocab import Lexicon
from keywright.models import _recurrent, cat_seq
from keywright.models.cat_seq import CatSeq
from keywright.nn.attention import attend
from keywright.nn.copy import NEVER
from keywright.nn.rnn import BiGRU

PARADIGM = cat_seq.PARADIGM


@dataclass(frozen=True)
class Config(_recurrent.Config):
    """The sizes of Chan et al. (2019)."""

    decoder: Count = 300
    unmerged: Probability = 0.5  # lambda: how much of a state comes from before the merging layer


def build(config: Config, vocabulary: Lexicon) -> nn.Module:
    return CatSeqTG(config, vocabulary)


class CatSeqTG(CatSeq):
    def __init__(self, config: Config, vocabulary: Lexicon):
        super().__init__(config, vocabulary)
        size = 2 * config.encoder
        self.unmerged = config.unmerged
        self.title_encoder = BiGRU(config.embedding, config.encoder)
        self.match = nn.Linear(size, size, bias=False)
        self.merge = BiGRU(2 * size, config.encoder)

    def read(self, embedded: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        states, _ = super().read(embedded, batch)
        gathered = self.gather_title(states, embedded, batch.title_lengths)
        both = self.dropout(torch.cat([states, gathered], dim=-1))
        merged, final = self.merge(both, batch.source_mask)
        return self.unmerged * states + (1 - self.unmerged) * merged, final

    def gather_title(self, states: Tensor, embedded: Tensor, lengths: Tensor) -> Tensor:
        """For every source word the attended title [B, S, M]; zero for a document without one."""
        # The title is the beginning of the source. An empty one is read as one word and then
        # forgotten, since no attention runs over nothing.
        longest = max(1, int(lengths.max()))
        mask = torch.arange(longest, device=lengths.device) < lengths.clamp(min=1).unsqueeze(1)
        title, _ = self.title_encoder(embedded[:, :longest], mask)
        energies = torch.bmm(states, self.match(title).transpose(1, 2))
        gathered = attend(energies.masked_fill(~mask.unsqueeze(1), NEVER), title)
        return gathered * (lengths > 0).view(-1, 1, 1)
