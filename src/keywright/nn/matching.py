"""Bipartite matching of slots to targets, separately for each document."""

from __future__ import annotations

import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor


def match(scores: Tensor, real: Tensor) -> Tensor:
    """The assignment of targets to slots that maximises the sum of their scores.

    scores: [B, N, M], of assigning target m to slot n; real: [B, M] bool, False at padding. Returns
    [B, N] long: the index of a target, or -1 for a slot without one. If there are more targets
    than slots, the best N are assigned.
    """
    chosen = torch.full(scores.shape[:2], -1, dtype=torch.long)
    for b, (matrix, columns) in enumerate(zip(scores.cpu(), real.cpu(), strict=True)):
        targets = columns.nonzero().squeeze(1)
        slots, picks = linear_sum_assignment(matrix[:, targets].numpy(), maximize=True)
        chosen[b, torch.from_numpy(slots)] = targets[torch.from_numpy(picks)]
    return chosen.to(scores.device)
