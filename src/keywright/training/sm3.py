"""SM3 (Anil et al. 2019, algorithm SM3-II): adaptive steps with memory of rows and columns only.

Adam keeps two numbers for every weight. SM3 keeps, for every slice of a tensor along every
dimension (the rows and the columns of a matrix), the largest sum of squared gradients in it; the
smallest of the slices that a weight lies in bounds the sum of that weight.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


class SM3(torch.optim.Optimizer):
    """`momentum` needs one more number for every weight, unless it is 0."""

    def __init__(self, params: Any, lr: float, momentum: float = 0.0, weight_decay: float = 0.0):
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, group)

    def _update(self, parameter: Tensor, group: dict[str, Any]) -> None:
        memory, momentum = self.state[parameter], group["momentum"]
        gradient = parameter.grad
        assert gradient is not None
        sums = _covered(parameter, memory).addcmul_(gradient, gradient)
        _store(sums, memory)
        # Where no gradient has ever been other than zero, there is nothing to update.
        update = torch.where(sums > 0, gradient * sums.rsqrt(), 0.0)
        if momentum:
            kept = memory.setdefault("momentum", torch.zeros_like(parameter))
            update = kept.mul_(momentum).add_(update, alpha=1 - momentum)
        if group["weight_decay"]:
            parameter.mul_(1 - group["lr"] * group["weight_decay"])
        parameter.add_(update, alpha=-group["lr"])


def _covered(parameter: Tensor, memory: dict[str, Tensor]) -> Tensor:
    """For every weight, the smallest value of the slices that it lies in; a new tensor."""
    sums = None
    for dimension in range(max(1, parameter.dim())):
        slices = memory.get(f"slices_{dimension}")
        if slices is None:
            return torch.zeros_like(parameter)
        sums = slices if sums is None else torch.minimum(sums, slices)
    assert sums is not None
    return sums.expand_as(parameter).clone()


def _store(sums: Tensor, memory: dict[str, Tensor]) -> None:
    """For every slice, the largest value in it."""
    for dimension in range(max(1, sums.dim())):
        others = [other for other in range(sums.dim()) if other != dimension]
        largest = sums.amax(others, keepdim=True) if others else sums.clone()
        memory[f"slices_{dimension}"] = largest
