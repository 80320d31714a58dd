"""CatSeqTG: CatSeq with a title-guided encoder.

The encoder is that of TG-Net (Chen et al. 2019), added to CatSeq by Chan et al. (2019). Every word
of the source attends to the title (matching layer), a second bidirectional GRU merges word and
attended title (merging layer), and its states are averaged with those of the first GRU.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from keywright.config import Count, Probability
from keywright.data.batch import Batch
from keywright.lexicon import Lexicon
from keywright.models import cat_seq
from keywright.models.cat_seq import CatSeq
from keywright.nn.attention import attend
from keywright.nn.copy import NEVER
from keywright.nn.rnn import BiGRU


@dataclass(frozen=True)
class Config(cat_seq.Config):
    """The sizes of Chan et al. (2019)."""

    decoder: Count = 300
    unmerged: Probability = 0.5  # lambda: the weight of the states before the merging layer


class CatSeqTG(CatSeq):
    graphs = None

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
        """The attended title [B, S, M] of every source word; zero if the document has no title."""
        # The title is the beginning of the source. An empty title is read as one word, because
        # attention needs at least one position; the result is set to zero afterwards.
        longest = max(1, int(lengths.max()))
        mask = torch.arange(longest, device=lengths.device) < lengths.clamp(min=1).unsqueeze(1)
        title, _ = self.title_encoder(embedded[:, :longest], mask)
        energies = torch.bmm(states, self.match(title).transpose(1, 2))
        gathered = attend(energies.masked_fill(~mask.unsqueeze(1), NEVER), title)
        return gathered * (lengths > 0).view(-1, 1, 1)


build = CatSeqTG
