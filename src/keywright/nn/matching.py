"""Bipartite matching of slots to targets, document by document."""

from __future__ import annotations

import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor


def match(scores: Tensor, real: Tensor) -> Tensor:
    """The target each slot gets so that the sum of their scores is largest.

    scores: [B, N, M] of giving target m to slot n; real: [B, M] bool, False at padding. Returns
    [B, N] long: the index of a target, or -1 for a slot that gets none. With more targets than
    slots the best N are given away.
    """
    chosen = torch.full(scores.shape[:2], -1, dtype=torch.long)
    for b, (matrix, columns) in enumerate(zip(scores.cpu(), real.cpu(), strict=True)):
        targets = columns.nonzero().squeeze(1)
        slots, picks = linear_sum_assignment(matrix[:, targets].numpy(), maximize=True)
        chosen[b, torch.from_numpy(slots)] = targets[torch.from_numpy(picks)]
    return chosen.to(scores.device)
