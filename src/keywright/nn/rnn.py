"""Recurrent encoders."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from keywright.nn.gru import GRU, together


class BiGRU(nn.Module):
    """A bidirectional GRU over padded sequences.

    The backward direction reads every sequence reversed within its own length, so padding comes
    last for both. On a CPU this is three times as fast as packed sequences, whose gradient is slow.
    """

    def __init__(self, input_size: int, hidden_size: int):
        super().__init__()
        self.forwards = GRU(input_size, hidden_size)
        self.backwards = GRU(input_size, hidden_size)

    def forward(self, inputs: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """States [B, S, 2H] (undefined at padding) and final states [B, 2H] of inputs [B, S, I]."""
        lengths = mask.sum(dim=1)
        reverse = _reversal(lengths, inputs.shape[1])
        ahead, back = together((self.forwards, self.backwards), (inputs, _reorder(inputs, reverse)))
        last = (lengths - 1).view(-1, 1)
        final = torch.cat([_reorder(ahead, last), _reorder(back, last)], dim=-1).squeeze(1)
        return torch.cat([ahead, _reorder(back, reverse)], dim=-1), final


def _reversal(lengths: Tensor, size: int) -> Tensor:
    """Positions [B, size] that reverse the first `lengths` of each row and keep the rest."""
    position = torch.arange(size, device=lengths.device)
    mirrored = lengths.unsqueeze(1) - 1 - position
    return mirrored.where(mirrored >= 0, position)


def _reorder(sequence: Tensor, positions: Tensor) -> Tensor:
    """The elements of [B, S, H] at `positions` [B, P]."""
    return sequence.gather(1, positions.unsqueeze(2).expand(-1, -1, sequence.shape[2]))
