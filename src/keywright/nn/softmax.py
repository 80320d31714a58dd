"""The softmax over a large vocabulary when only the probability of the target is needed."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

CHUNK = 64
"""Rows computed together: few enough to stay in the CPU cache until they are exponentiated."""


def target_logits(features: Tensor, output: nn.Linear, target: Tensor) -> tuple[Tensor, Tensor]:
    """The logit of each target [N] and the logarithm of the softmax denominator [N].

    `features` [N, H], `target` [N] in 0 .. V - 1. The difference of the two results is the
    log-probability of the target. The log-softmax [N, V] and its gradient are never written to
    memory: the backward pass uses the stored exponentials and scales the smaller matrices that
    they are multiplied with. Under mixed precision all of this has the precision of the weights.
    """
    features = features.to(output.weight.dtype)
    if not torch.is_grad_enabled():
        logits = output(features)
        return _at(logits, target), logits.logsumexp(dim=-1)
    return _TargetLogits.apply(features, output.weight, output.bias, target)  # type: ignore[no-untyped-call, no-any-return]


def _at(logits: Tensor, target: Tensor) -> Tensor:
    return logits.gather(1, target.unsqueeze(1)).squeeze(1)


class _TargetLogits(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, features: Tensor, weight: Tensor, bias: Tensor, target: Tensor
    ) -> tuple[Tensor, Tensor]:
        rows = len(features)
        exponentials = features.new_empty(rows, len(weight))
        logit, largest, total = (features.new_empty(rows) for _ in range(3))
        for start in range(0, rows, CHUNK):
            part = slice(start, start + CHUNK)
            logits = torch.addmm(bias, features[part], weight.t(), out=exponentials[part])
            logit[part] = _at(logits, target[part])
            largest[part] = logits.amax(dim=1)
            total[part] = logits.sub_(largest[part].unsqueeze(1)).exp_().sum(dim=1)
        ctx.save_for_backward(features, weight, target, exponentials, total)
        return logit, largest + total.log()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, logit_grad: Tensor, denominator_grad: Tensor) -> tuple[Any, ...]:
        features, weight, target, exponentials, total = ctx.saved_tensors
        # d denominator / d logits is the softmax: the exponentials, with each row scaled.
        scale = (denominator_grad / total).unsqueeze(1)
        logit_grad = logit_grad.unsqueeze(1)
        features_grad = torch.addcmul(exponentials @ weight * scale, weight[target], logit_grad)
        weight_grad = ((features * scale).t() @ exponentials).t()
        weight_grad.index_add_(0, target, features * logit_grad)
        bias_grad = (scale.t() @ exponentials).squeeze(0)
        bias_grad.index_add_(0, target, logit_grad.squeeze(1))
        return features_grad, weight_grad, bias_grad, None
