"""Gated recurrent units (Cho et al. 2014) whose gradient is fast on a CPU.

    r, z = sigmoid(W_rz x + b + U_rz h + c)
    n = tanh(W_n x + b + r * (U_n h + c))
    h' = n + z * (h - n)

On a CPU, `nn.GRU` differentiates every step separately, and each adds a matrix of the size of the
weights to their gradient. Here only the chain from state to state is followed step by step;
everything else is one product over all steps, and several layers advance together. The results are
those of `nn.GRU` up to rounding. Without a gradient, on other devices and under autocast `nn.GRU`
itself is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable


class GRU(nn.GRU):
    """A layer over padded sequences [B, S, I]; the parameters are those of `nn.GRU`."""

    def __init__(self, input_size: int, hidden_size: int):
        super().__init__(input_size, hidden_size, batch_first=True)

    def states(self, inputs: Tensor, initial: Tensor | None = None) -> Tensor:
        """States [B, S, H] after each of the inputs [B, S, I], from `initial` [B, H] or zeros."""
        [found] = together([self], [inputs], None if initial is None else [initial])
        return found


def together(
    layers: Sequence[GRU], inputs: Sequence[Tensor], initial: Sequence[Tensor] | None = None
) -> list[Tensor]:
    """What `states` of each layer gives for its inputs; layers and inputs have the same sizes."""
    if initial is None:
        initial = [rows.new_zeros(len(rows), layers[0].hidden_size) for rows in inputs]
    if not _is_slow(inputs[0]):
        return [
            layer(rows, first.unsqueeze(0))[0]
            for layer, rows, first in zip(layers, inputs, initial, strict=True)
        ]
    weights = [layer.all_weights[0] for layer in layers]
    projected = torch.stack(
        [rows.transpose(0, 1) @ own[0].t() for own, rows in zip(weights, inputs, strict=True)],
        dim=1,
    )
    weight, bias, recurrent_bias = (torch.stack([own[i] for own in weights]) for i in (1, 2, 3))
    first = torch.stack(list(initial))
    states = _States.apply(projected, weight, bias, recurrent_bias, first)  # type: ignore[no-untyped-call]
    return [found.transpose(0, 1) for found in states.unbind(1)]


def _is_slow(inputs: Tensor) -> bool:
    """Whether `nn.GRU` would need its slow gradient."""
    if inputs.device.type != "cpu" or not torch.is_grad_enabled():
        return False
    return not torch.is_autocast_enabled("cpu")


class _States(torch.autograd.Function):
    """The recurrence of D layers for S steps of B rows.

    `projected` [S, D, B, 3H] are W x of the gates r, z, n; `weight` [D, 3H, H], `bias` and
    `recurrent_bias` [D, 3H] are U, b and c; `initial` is [D, B, H]. The result is [S, D, B, H].
    """

    @staticmethod
    def forward(
        ctx: Any,
        projected: Tensor,
        weight: Tensor,
        bias: Tensor,
        recurrent_bias: Tensor,
        initial: Tensor,
    ) -> Tensor:
        steps, layers, rows, _ = projected.shape
        size = initial.shape[-1]
        transposed = weight.transpose(1, 2)
        projected = projected + bias.unsqueeze(1)
        offset = recurrent_bias.unsqueeze(1).expand(-1, rows, -1)
        # `recurrent` keeps U h + c of the gate n, `gates` the values of r and z.
        gates = projected.new_empty(steps, layers, rows, 2 * size)
        recurrent, candidates, states = (
            projected.new_empty(steps, layers, rows, size) for _ in range(3)
        )
        hidden = initial
        for step in range(steps):
            given, advanced = projected[step], torch.baddbmm(offset, hidden, transposed)
            both = torch.add(given[..., : 2 * size], advanced[..., : 2 * size], out=gates[step])
            both.sigmoid_()
            kept = recurrent[step].copy_(advanced[..., 2 * size :])
            candidate = candidates[step]
            torch.addcmul(given[..., 2 * size :], both[..., :size], kept, out=candidate)
            _tanh(candidate)
            hidden = torch.lerp(candidate, hidden, both[..., size:], out=states[step])
        ctx.save_for_backward(weight, initial, gates, recurrent, candidates, states)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, ...]:
        weight, initial, gates, recurrent, candidates, states = ctx.saved_tensors
        steps, layers, rows, size = states.shape
        before = torch.cat([initial.unsqueeze(0), states[:-1]])
        reset, update = gates[..., :size], gates[..., size:]
        # The derivatives of the new state by what enters the gates, which `grad` of a state scales.
        by_candidate = (1 - update) * (1 - candidates.square())
        factors = torch.stack(
            [
                by_candidate * recurrent * reset * (1 - reset),
                (before - candidates) * update * (1 - update),
                by_candidate * reset,
            ],
            dim=3,
        )  # [S, D, B, 3, H] of U h + c
        recurrent_grad = torch.empty_like(factors)
        state_grad = torch.empty_like(states)
        hidden_grad = state_grad[-1].copy_(grad[-1])
        for step in reversed(range(steps)):
            entering = torch.mul(hidden_grad.unsqueeze(2), factors[step], out=recurrent_grad[step])
            direct = torch.empty_like(hidden_grad) if step == 0 else state_grad[step - 1]
            torch.mul(hidden_grad, update[step], out=direct)
            if step:
                direct += grad[step - 1]
            hidden_grad = torch.baddbmm(
                direct, entering.view(layers, rows, 3 * size), weight, out=direct
            )
        gates_grad = recurrent_grad.view(steps, layers, rows, 3 * size)
        by_layer = _by_layer(gates_grad)
        weight_grad = torch.bmm(by_layer.transpose(1, 2), _by_layer(before))
        recurrent_bias_grad = _sum(by_layer)
        recurrent_grad[..., 2, :] = state_grad * by_candidate  # r does not scale W x + b
        bias_grad = _sum(_by_layer(gates_grad))
        return gates_grad, weight_grad, bias_grad, recurrent_bias_grad, hidden_grad


def _by_layer(values: Tensor) -> Tensor:
    """[D, S * B, ...] of [S, D, B, ...]."""
    return values.transpose(0, 1).flatten(1, 2)


def _sum(values: Tensor) -> Tensor:
    """The sum over the rows of [D, N, X]; as a product it is several times as fast."""
    return torch.matmul(values.new_ones(values.shape[1]), values)


def _tanh(values: Tensor) -> None:
    """In place; torch's own takes five times as long on a CPU."""
    values.mul_(2).sigmoid_().mul_(2).sub_(1)
