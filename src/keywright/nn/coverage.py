"""Attention with a memory: coverage of the source, and review of the decoder's own states."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from keywright.nn.attention import AdditiveAttention
from keywright.nn.copy import NEVER


class CoverageAttention(AdditiveAttention):
    """Additive attention whose energies depend on how much each position was attended so far.

    e = L1 tanh(W_q q + W_k k + w_c c), where c is the sum of earlier attention (Tu et al. 2016, See
    et al. 2017). Each step depends on the one before, so the time steps are a loop.
    """

    def __init__(self, query_size: int, memory_size: int, size: int):
        super().__init__(query_size, memory_size, size)
        self.coverage = nn.Linear(1, size, bias=False)

    def covering(
        self, queries: Tensor, keys: Tensor, mask: Tensor, coverage: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Energies [B, T, S] of queries [B, T, Q], and `coverage` [B, S] after the last one."""
        energies = []
        for query in self.query(queries).unbind(dim=1):
            features = query.unsqueeze(1) + keys + self.coverage(coverage.unsqueeze(2))
            energy = self.energy(features.tanh()).squeeze(2).masked_fill(~mask, NEVER)
            coverage = coverage + energy.softmax(dim=-1)
            energies.append(energy)
        return torch.stack(energies, dim=1), coverage


class ReviewAttention(AdditiveAttention):
    """Additive attention over the decoder's own earlier states."""

    def reviewing(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Energies [B, T, P + T] of the last T queries [B, T, Q] over keys [B, P + T, A].

        Query t may attend to the keys up to and including P + t.
        """
        features = self.query(queries).unsqueeze(2) + keys.unsqueeze(1)
        energies: Tensor = self.energy(features.tanh()).squeeze(3)
        steps, seen = energies.shape[1:]
        later = torch.ones(steps, seen, dtype=torch.bool, device=energies.device)
        return energies.masked_fill(later.triu(seen - steps + 1), NEVER)
