from __future__ import annotations

import pytest
import torch
from torch import Tensor

from keywright.nn import gru
from keywright.nn.gru import GRU, together


def layers(count: int) -> list[GRU]:
    torch.manual_seed(0)
    return [GRU(3, 4).double() for _ in range(count)]


def gradients(states: list[Tensor], leaves: list[Tensor]) -> tuple[Tensor, ...]:
    """Of a sum that depends on every state in another way."""
    weights = [torch.linspace(-1, 1, found.numel()).view_as(found) for found in states]
    total = sum((found.sin() * w).sum() for found, w in zip(states, weights, strict=True))
    assert isinstance(total, Tensor)
    return torch.autograd.grad(total, leaves)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("steps", [1, 5])
def test_states_and_gradients_are_those_of_torch(count: int, steps: int) -> None:
    chosen = layers(count)
    inputs = [torch.randn(2, steps, 3, dtype=torch.double, requires_grad=True) for _ in chosen]
    initial = [torch.randn(2, 4, dtype=torch.double, requires_grad=True) for _ in chosen]
    leaves = [*inputs, *initial, *(p for layer in chosen for p in layer.parameters())]
    ours = together(chosen, inputs, initial)
    theirs = [
        layer(x, first.unsqueeze(0))[0]
        for layer, x, first in zip(chosen, inputs, initial, strict=True)
    ]
    for our, their in zip(ours, theirs, strict=True):
        assert torch.allclose(our, their, rtol=0, atol=1e-12)
    for our, their in zip(gradients(ours, leaves), gradients(theirs, leaves), strict=True):
        assert torch.allclose(our, their, rtol=0, atol=1e-12)


def test_the_gradient_is_that_of_finite_differences() -> None:
    [layer] = layers(1)
    inputs = torch.randn(2, 3, 3, dtype=torch.double, requires_grad=True)
    initial = torch.randn(2, 4, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(layer.states, (inputs, initial))


def test_without_a_gradient_or_under_autocast_torch_computes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    [layer] = layers(1)
    inputs = torch.randn(2, 3, 3, dtype=torch.double)
    expected = layer.states(inputs)
    assert expected.requires_grad
    monkeypatch.delattr(gru, "_States")
    with torch.no_grad():
        assert torch.allclose(layer.states(inputs), expected)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.allclose(layer.float().states(inputs.float()).double(), expected, atol=0.05)
