"""CopyRNN: one keyphrase at a time (Meng et al. 2017).

The decoder reads the attended source together with the last word. Words are produced or copied by
one softmax over the vocabulary and all source positions (Gu et al. 2016), in which copying position
j has the score psi_c(x_j) = tanh(h_j W_c) s_t.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from keywright.config import Count, Fraction
from keywright.data.batch import Batch
from keywright.lexicon import Lexicon
from keywright.models import _recurrent
from keywright.models._one2one import Decoded, OneByOne
from keywright.nn.attention import attend
from keywright.nn.copy import NEVER


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


class CopyRNN(OneByOne):
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

    def decode(
        self,
        embedded: Tensor,
        hidden: Tensor,
        memory: _recurrent.Memory,
        counts: Tensor | None = None,
    ) -> Decoded:
        assert isinstance(memory, Memory)
        attention = self.attention(hidden, memory.keys, memory.mask, counts)
        context = attend(attention, memory.states)
        inputs = torch.cat([embedded, context], dim=-1)
        hidden = self.decoder(inputs.flatten(0, 1), hidden.flatten(0, 1)).view_as(hidden)
        dropped = self.dropout(hidden)
        features = self.readout(torch.cat([dropped, inputs], dim=-1)).tanh()
        copying = torch.bmm(dropped, memory.copy_keys.transpose(1, 2))
        copying = copying.masked_fill(~memory.mask.unsqueeze(1), NEVER)
        return Decoded(hidden, features, copying, attention)


build = CopyRNN
