"""A network that scores spans of words as keyphrases: see `ranking.span_tagger` for its use.

A stack of dilated convolutions over words (Strubell et al. 2017), each of which also reads the mean
of the whole document. A span is scored from the states of its first and its last word, as in
span-based extraction (Lee et al. 2017).

B documents of at most S words; N is the number of words of the longest span.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class SpanTaggerShape:
    stems: int  # entries of the four embeddings
    endings: int
    standings: int
    places: int
    width: int  # of embeddings and layers
    span: int  # of the vectors by which first and last words are compared
    longest: int  # N
    dilations: tuple[int, ...]  # one layer each
    dropout: float


@dataclass(frozen=True)
class SpanInputs:
    """Documents as the network reads them, all [B, S]."""

    stems: Tensor
    endings: Tensor
    standings: Tensor
    places: Tensor
    real: Tensor  # bool, False at padding

    @property
    def ids(self) -> dict[str, Tensor]:
        """The inputs of the embeddings, by name."""
        return {
            "stems": self.stems,
            "endings": self.endings,
            "standings": self.standings,
            "places": self.places,
        }


class SpanTaggerNetwork(nn.Module):
    def __init__(self, shape: SpanTaggerShape):
        super().__init__()
        width = shape.width
        self.longest = shape.longest
        self.stems = nn.Embedding(shape.stems, width)
        self.endings = nn.Embedding(shape.endings, width)
        self.standings = nn.Embedding(shape.standings, width)
        self.places = nn.Embedding(shape.places, width)
        for table in self.tables.values():
            nn.init.normal_(table.weight, 0, 0.1)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(SpanTaggerLayer(width, each) for each in shape.dilations)
        self.first = nn.Linear(width, shape.longest)
        self.last = nn.Linear(width, shape.longest, bias=False)
        self.begin = nn.Linear(width, shape.span)
        self.end = nn.Linear(width, shape.span)
        self.dropout = shape.dropout
        nn.init.constant_(self.first.bias, -3.0)  # few spans are keyphrases

    @property
    def tables(self) -> dict[str, nn.Embedding]:
        """The embeddings, by the name of their input."""
        return {
            "stems": self.stems,
            "endings": self.endings,
            "standings": self.standings,
            "places": self.places,
        }

    def forward(self, inputs: SpanInputs, seed: int = 0) -> Tensor:
        """Log-odds [B, S, N] that the 1, 2, ... words from each word on are a keyphrase."""
        real = inputs.real.unsqueeze(2).float()
        drop = _Dropout(self.dropout if self.training else 0.0, seed)
        x = self.stems(inputs.stems) + self.endings(inputs.endings)
        x = x + self.standings(inputs.standings) + self.places(inputs.places)
        x = self.norm(drop(x)) * real
        for layer in self.layers:
            x = layer(x, real, drop)
        begin, end, last = self.begin(x), self.end(x), self.last(x)
        longer = (0, 0, 0, self.longest - 1)  # no words follow the last ones
        end, last, size = F.pad(end, longer), F.pad(last, longer), x.shape[1]
        together = [(begin * end[:, k : k + size]).sum(2) for k in range(self.longest)]
        ends = [last[:, k : k + size, k] for k in range(self.longest)]
        scale = self.begin.out_features**-0.5
        found: Tensor = self.first(x) + torch.stack(ends, 2) + scale * torch.stack(together, 2)
        return found


class SpanTaggerLayer(nn.Module):
    """A word, its neighbours at a distance, and the mean of all words."""

    def __init__(self, width: int, dilation: int):
        super().__init__()
        self.dilation = dilation
        self.near = nn.Linear(3 * width, width)
        self.whole = nn.Linear(width, width, bias=False)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor, real: Tensor, drop: Callable[[Tensor], Tensor]) -> Tensor:
        far, size = self.dilation, x.shape[1]
        padded = F.pad(x, (0, 0, far, far))
        near = torch.cat([padded[:, at : at + size] for at in (0, far, 2 * far)], dim=2)
        mean = x.sum(1, keepdim=True) / real.sum(1, keepdim=True)
        new = F.relu(self.near(near) + self.whole(mean))
        found: Tensor = self.norm(x + drop(new)) * real
        return found


class _Dropout:
    """Drops features of whole documents: a random number for each word would cost 10% more time."""

    def __init__(self, rate: float, seed: int):
        self._rate = rate
        self._random = torch.Generator().manual_seed(seed)

    def __call__(self, x: Tensor) -> Tensor:
        if not self._rate:
            return x
        kept = torch.rand(x.shape[0], 1, x.shape[2], generator=self._random) >= self._rate
        return x * (kept.float() / (1 - self._rate))
