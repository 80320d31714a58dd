from __future__ import annotations

import pytest
import torch
from torch import nn

from keywright.nn import softmax


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_values_and_gradients_are_those_of_the_log_softmax(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(softmax, "CHUNK", 2)  # five rows are three chunks
    torch.manual_seed(0)
    output = nn.Linear(4, 9).double()
    features = torch.randn(rows, 4, dtype=torch.double, requires_grad=True)
    target = torch.randint(9, (rows,))
    weights = torch.randn(rows, dtype=torch.double)

    def gradients(log_prob: torch.Tensor) -> list[torch.Tensor]:
        inputs = (features, output.weight, output.bias)
        return list(torch.autograd.grad((log_prob * weights).sum(), inputs))

    logit, denominator = softmax.target_logits(features, output, target)
    whole = output(features).log_softmax(dim=1).gather(1, target.unsqueeze(1)).squeeze(1)
    assert torch.allclose(logit - denominator, whole)
    for ours, theirs in zip(gradients(logit - denominator), gradients(whole), strict=True):
        assert torch.allclose(ours, theirs)
    with torch.no_grad():
        again = softmax.target_logits(features, output, target)
    assert torch.allclose(again[0], logit)
    assert torch.allclose(again[1], denominator)
