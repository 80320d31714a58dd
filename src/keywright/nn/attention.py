"""Additive attention (Bahdanau et al. 2015), and the bilinear one of Luong et al. (2015)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from keywright.nn.copy import NEVER


class Attention(nn.Module):
    """Energies of queries over memories, whose `key` is computed once for all queries."""

    key: nn.Linear


class AdditiveAttention(Attention):
    """energy(q, m) = L1 tanh(L2 <q, m>), where L2 is split into a matrix for q and one for m.

    Equations 9 and 10 of Yuan et al. (2020). L1 has no bias, because the softmax would cancel it.
    """

    def __init__(self, query_size: int, memory_size: int, size: int):
        super().__init__()
        self.query = nn.Linear(query_size, size)
        self.key = nn.Linear(memory_size, size, bias=False)
        self.energy = nn.Linear(size, 1, bias=False)

    def forward(
        self, queries: Tensor, keys: Tensor, mask: Tensor, counts: Tensor | None = None
    ) -> Tensor:
        """Energies [B, T, S] of queries [B, T, Q] over `keys` = `self.key(memory)` [B, S, A].

        Positions outside `mask` [B, S] get `NEVER`; the real positions of a mask come first. Only
        the first `counts` [B] queries of each row are real (default: all); all energies of the
        others are `NEVER`.
        """
        queries = self.query(queries)
        if queries.shape[1] == 1:
            energies = (queries + keys).tanh() @ self.energy.weight[0]
            return energies.masked_fill(~mask, NEVER).unsqueeze(1)
        if counts is None:
            counts = torch.full((len(queries),), queries.shape[1])
        return _Energies.apply(  # type: ignore[no-untyped-call, no-any-return]
            queries, keys, self.energy.weight[0], counts, mask.sum(dim=1)
        )


class GeneralAttention(Attention):
    """energy(q, m) = q W m ("general" of Luong et al. 2015)."""

    def __init__(self, query_size: int, memory_size: int):
        super().__init__()
        self.key = nn.Linear(memory_size, query_size, bias=False)

    def forward(self, queries: Tensor, keys: Tensor, mask: Tensor) -> Tensor:
        """Energies [B, T, S] of queries [B, T, Q] over `keys` = `self.key(memory)` [B, S, Q]."""
        return torch.bmm(queries, keys.transpose(1, 2)).masked_fill(~mask.unsqueeze(1), NEVER)


def attend(energies: Tensor, memory: Tensor) -> Tensor:
    """The memory [B, S, M] averaged by the softmax of energies [B, T, S]: [B, T, M]."""
    return torch.bmm(torch.softmax(energies, dim=-1), memory)


class _Energies(torch.autograd.Function):
    """sum_a v_a tanh(q_a + k_a) for all pairs of a query and a key, one document at a time.

    The tensor [T, S, A] of one document fits in the CPU cache and is computed again for the
    gradient. Compared with whole batches this takes half the time and a fraction of the memory,
    and padding costs nothing.
    """

    @staticmethod
    def forward(
        ctx: Any, queries: Tensor, keys: Tensor, weight: Tensor, counts: Tensor, lengths: Tensor
    ) -> Tensor:
        ctx.save_for_backward(queries, keys, weight, counts, lengths)
        energies = queries.new_full((*queries.shape[:2], keys.shape[1]), NEVER)
        queries, keys = _exponentials(queries), _exponentials(keys)
        largest, double = weight.sum(), -2 * weight
        for row, t, s in _sizes(counts, lengths):
            falling = _falling(queries[row, :t], keys[row, :s])
            energies[row, :t, :s] = torch.matmul(falling, double).add_(largest)
        return energies

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        queries, keys, weight, counts, lengths = ctx.saved_tensors
        queries_grad, keys_grad = torch.zeros_like(queries), torch.zeros_like(keys)
        weight_grad = torch.zeros_like(weight)
        queries, keys = _exponentials(queries), _exponentials(keys)
        for row, t, s in _sizes(counts, lengths):
            g = grad[row, :t, :s]
            falling = _falling(queries[row, :t], keys[row, :s])
            weight_grad += g.sum() - 2 * (g.flatten() @ falling.flatten(0, 1))
            # d tanh = 1 - tanh^2 = 4 f (1 - f)
            slope = torch.addcmul(falling, falling, falling, value=-1, out=falling)
            slope *= g.unsqueeze(2)
            queries_grad[row, :t] = slope.sum(dim=1)
            keys_grad[row, :s] = slope.sum(dim=0)
        return queries_grad * (4 * weight), keys_grad * (4 * weight), weight_grad, None, None


def _exponentials(values: Tensor) -> Tensor:
    """e^2x; tanh is 1 or -1 long before x is limited."""
    return values.mul(2).clamp_(-80, 80).exp_()


def _falling(queries: Tensor, keys: Tensor) -> Tensor:
    """f [T, S, A] = (1 - tanh(q + k)) / 2 = 1 / (1 + e^2q e^2k), from `_exponentials` of both.

    An exponential for each query and each key is cheaper than a tanh for each pair.
    """
    return (queries.unsqueeze(1) * keys).add_(1).reciprocal_()


def _sizes(counts: Tensor, lengths: Tensor) -> Iterator[tuple[int, int, int]]:
    for row, (t, s) in enumerate(zip(counts.tolist(), lengths.tolist(), strict=True)):
        if t:
            yield row, t, s
