"""A second step of an update, for a loss that the model minimises apart from the others.

Chan et al. (2019) train the target encoder of catSeqD so.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from keywright.training import optimiser
from keywright.training.processes import Processes


class SeparateStep:
    """Collects the gradient of `Loss.separate` while that of `Loss.total` is computed.

    Both are gradients at the weights before the update; the second step starts from the weights
    that the first one leaves.
    """

    def __init__(self, parameters: Sequence[nn.Parameter]):
        self._parameters = parameters
        self._gradients: list[Tensor] = []

    @property
    def due(self) -> bool:
        return bool(self._gradients)

    def add(self, loss: Tensor) -> None:
        """Add the gradient of a piece of the batch. The graph of its loss can still be used."""
        found = torch.autograd.grad(loss, self._parameters, retain_graph=True)
        if not self._gradients:
            self._gradients = list(found)
            return
        self._gradients = [a + b for a, b in zip(self._gradients, found, strict=True)]

    def take(
        self, of: torch.optim.Optimizer, processes: Processes, divisor: float, clip: float
    ) -> None:
        """The second step; a process that has collected nothing takes it with the others."""
        of.zero_grad(set_to_none=True)
        for parameter, gradient in zip(self._parameters, self._gradients, strict=False):
            parameter.grad = gradient
        self._gradients = []
        processes.sum_gradients(self._parameters)
        optimiser.normalise_gradient(self._parameters, divisor, clip)
        of.step()
