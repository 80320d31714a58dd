"""A loss as a sum and its divisor, so that batches can be divided into pieces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass(frozen=True)
class Loss:
    """A sum, and the number that the sum of a whole batch is divided by.

    A batch may be divided among processes and accumulation steps. The training loop adds up the
    totals and the divisors of all pieces, and divides once: the result is the same however a batch
    was divided. What the divisor counts is the objective's choice: target tokens for likelihood,
    sampled tokens or sequences for policy gradients, ... Additional terms are sums over the same
    documents, already weighted, and are added to `total`.
    """

    total: Tensor  # scalar, differentiable
    divisor: Tensor  # scalar, greater than 0
    parts: Mapping[str, Tensor] = field(default_factory=dict)  # detached sums, for logging
    separate: Tensor | None = None
    """A sum that is minimised in a step of its own after that of `total`; it trains the model's
    `separate_parameters`, and is divided by the same divisor."""

    @property
    def mean(self) -> Tensor:
        """The loss of a batch that is not divided."""
        return self.total / self.divisor


def likelihood_loss(log_prob: Tensor) -> Loss:
    """The negative log-likelihood of target tokens [N], to be divided by N."""
    total = -log_prob.sum()
    return Loss(total, torch.tensor(len(log_prob)), {"nll": total.detach()})


def at_targets(log_prob: Tensor, mask: Tensor) -> Tensor:
    """The values [N] of real target tokens, in order, at their positions in `mask`; 0 elsewhere."""
    return log_prob.new_zeros(mask.shape).masked_scatter(mask, log_prob)
