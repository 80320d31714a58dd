"""A loss that is minimised in a step of its own."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from keywright import config as configs
from keywright.training.loop import train
from keywright.training.processes import Processes
from keywright.training.separate import SeparateStep
from tests.models.conftest import TINY
from tests.models.test_cat_seq_d import RELEASED
from tests.training.conftest import tiny
from tests.training.test_loop import assert_same, stop_at, weights


def test_the_second_step_moves_only_its_own_parameters() -> None:
    shared, other = nn.Parameter(torch.tensor([1.0])), nn.Parameter(torch.tensor([1.0]))
    optimiser = torch.optim.SGD([shared, other], lr=0.1)
    step = SeparateStep([shared])
    assert not step.due
    for _ in range(2):  # two pieces of a batch
        hidden = 2 * shared
        step.add((3 * hidden).sum())
        (hidden * other).sum().backward()
    assert step.due
    assert shared.grad is not None  # of the total alone: 2 * other, twice
    assert shared.grad.item() == 4
    optimiser.step()
    assert [round(p.item(), 6) for p in (shared, other)] == [0.6, 0.6]
    # The second gradient, 6 for each piece, was computed before the first step; divided by 4.
    step.take(optimiser, Processes(), divisor=4, clip=100)
    assert [round(p.item(), 6) for p in (shared, other)] == [0.3, 0.6]
    assert not step.due


def test_the_second_step_is_clipped() -> None:
    parameter = nn.Parameter(torch.tensor([1.0]))
    step = SeparateStep([parameter])
    step.add((50 * parameter).sum())
    step.take(torch.optim.SGD([parameter], lr=1), Processes(), divisor=1, clip=0.5)
    assert parameter.item() == 0.5


def test_a_stopped_run_takes_the_same_steps(corpus: Path, tmp_path: Path) -> None:
    """catSeqD as released: a second step in every update, and a queue of recent documents."""
    table = tiny(corpus)
    table["model"] = {"name": "cat_seq_d", **TINY["cat_seq_d"], **RELEASED, "dropout": 0.1}
    config = configs.parse(table)
    train(config, tmp_path / "whole")
    train(config, tmp_path / "cut", watch=stop_at(3))
    train(config, tmp_path / "cut", resume=True)
    assert_same(weights(tmp_path / "whole"), weights(tmp_path / "cut"))
    table["model"]["semantic_step"] = "same"
    train(configs.parse(table), tmp_path / "joint")
    name = "bilinear.weight"
    assert not torch.equal(weights(tmp_path / "whole")[name], weights(tmp_path / "joint")[name])
