"""If another process of a training is lost, this one ends with a sentence, not a traceback."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from keywright.errors import KeywrightError
from keywright.training import processes
from keywright.training.processes import Processes


def lost(*arguments: object) -> torch.Tensor:
    raise RuntimeError("[pair.cc:537] Read error\n[10.77.0.2]: Connection reset by peer")


@pytest.mark.parametrize(
    "work",
    [
        lambda together: together.sum([1.0]),
        lambda together: together.sum_gradients([nn.Parameter(torch.zeros(2))]),
        lambda together: together.wait(),
    ],
)
def test_it_is_said(work: Callable[[Processes], object], monkeypatch: pytest.MonkeyPatch) -> None:
    together = Processes()
    monkeypatch.setattr(together, "count", 2)
    monkeypatch.setattr(together._state, "wait_for_everyone", lost)
    monkeypatch.setattr(processes, "reduce", lost)
    with pytest.raises(KeywrightError, match=r"was lost \(.*reset by peer\); start .* --resume"):
        work(together)
