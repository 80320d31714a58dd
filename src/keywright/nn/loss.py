"""What a model's loss tells the training loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass(frozen=True)
class Loss:
    """A sum over target tokens, and how many there were.

    The loop divides `total` by the number of tokens of the whole (accumulated, multi-process)
    batch, so sums and not means are kept. Losses beyond the likelihood are added to `total` as
    sums over documents, already weighted: the objective divided by the token count is then the
    same however a batch is cut into pieces.
    """

    total: Tensor  # scalar, differentiable
    count: Tensor  # scalar, number of target tokens
    parts: Mapping[str, Tensor] = field(default_factory=dict)  # detached sums, for logging


def likelihood_loss(log_prob: Tensor) -> Loss:
    """The negative log-likelihood of target tokens [N]."""
    total = -log_prob.sum()
    return Loss(total, torch.tensor(len(log_prob)), {"nll": total.detach()})
