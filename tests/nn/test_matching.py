from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import linear_sum_assignment

from keywright.nn.matching import match


@pytest.mark.parametrize("targets", [2, 5, 9])
def test_every_document_gets_the_best_matching(targets: int) -> None:
    torch.manual_seed(targets)
    scores = torch.rand(8, 5, targets)
    chosen = match(scores, torch.ones(8, targets, dtype=torch.bool))
    for matrix, row in zip(scores.numpy(), chosen.numpy(), strict=True):
        slots, picks = linear_sum_assignment(matrix, maximize=True)
        assigned = np.flatnonzero(row >= 0)
        assert len(assigned) == min(5, targets)
        assert matrix[assigned, row[assigned]].sum() == pytest.approx(matrix[slots, picks].sum())
        assert len(set(row[assigned])) == len(assigned)


def test_padding_is_never_assigned() -> None:
    scores = torch.tensor([[[0.1, 9.0], [0.2, 9.0]], [[9.0, 9.0], [9.0, 9.0]]])
    real = torch.tensor([[True, False], [False, False]])
    assert match(scores, real).tolist() == [[-1, 0], [-1, -1]]
