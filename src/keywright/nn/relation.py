"""The stacked relation layer of UniKeyphrase (Wu et al. 2021).

Two streams of states, one for present and one for absent phrases, start from the output of the
encoder. In every layer each stream is transformed and attends to the other one:

    P' = LN(ReLU(W_p P) + P)              A' = LN(ReLU(W_a A) + A)
    P'' = LN(P' + softmax(P' A'^T) A')    A'' = LN(A' + softmax(A' P'^T) P')
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from keywright.nn.prefix_lm import Context, attend
from keywright.nn.transformer import KeyValue


class Streams(NamedTuple):
    present: Tensor  # [..., L, D]
    absent: Tensor

    def append(self, other: Streams) -> Streams:
        """The positions of `other` after those of this one."""
        return Streams(
            torch.cat([self.present, other.present], dim=-2),
            torch.cat([self.absent, other.absent], dim=-2),
        )


class RelationLayer(nn.Module):
    def __init__(self, width: int, dropout: float):
        super().__init__()
        self.present = nn.Linear(width, width)  # W_p
        self.absent = nn.Linear(width, width)  # W_a
        self.norms = nn.ModuleDict(
            {
                name: nn.LayerNorm(width)
                for name in ("present", "absent", "mixed_present", "mixed_absent")
            }
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, streams: Streams, mask: Tensor) -> Streams:
        """Streams [B, L, D]; `mask` [B, L, L] is True where a row may attend to a column."""
        read = self.transformed(streams)
        scores = read.present @ read.absent.transpose(1, 2)
        to_absent = scores.masked_fill(~mask, -math.inf).softmax(dim=-1) @ read.absent
        scores = scores.transpose(1, 2).masked_fill(~mask, -math.inf)
        return self.mixed(read, Streams(to_absent, scores.softmax(dim=-1) @ read.present))

    def extend(self, read: Streams, source: Streams, past: Streams, context: Context) -> Streams:
        """New target positions; all arguments are transformed streams.

        `read` [R, T, D] are the new positions, `source` [B, S, D] those of documents and `past`
        [R, P, D] earlier ones of the target.
        """
        own = past.append(read)
        present, absent = (
            attend(query[:, None], _one_head(theirs), _one_head(mine), context)
            for query, theirs, mine in (
                (read.present, source.absent, own.absent),
                (read.absent, source.present, own.present),
            )
        )
        return self.mixed(read, Streams(present, absent))

    def transformed(self, streams: Streams) -> Streams:
        """P' and A'."""
        present, absent = streams
        return Streams(
            self.norms["present"](self.dropout(self.present(present).relu()) + present),
            self.norms["absent"](self.dropout(self.absent(absent).relu()) + absent),
        )

    def mixed(self, read: Streams, attended: Streams) -> Streams:
        """P'' and A''."""
        return Streams(
            self.norms["mixed_present"](read.present + self.dropout(attended.present)),
            self.norms["mixed_absent"](read.absent + self.dropout(attended.absent)),
        )


def _one_head(states: Tensor) -> KeyValue:
    return KeyValue(states[:, None], states[:, None])
