from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from keywright.config import Stage
from keywright.errors import ConfigError
from keywright.training import optimiser


class Grouped(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(2, 2)
        self.decoder = nn.Linear(2, 1)

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        return {"encoder": list(self.encoder.parameters())}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.decoder(self.encoder(x))


def step(model: nn.Module, built: torch.optim.Optimizer, x: torch.Tensor) -> None:
    built.zero_grad()
    model(x).sum().backward()
    built.step()


def test_groups_have_their_own_rates_and_schedules_scale_them_all() -> None:
    built = optimiser.build(Grouped(), Stage(epochs=1, learning_rates={"encoder": 1e-5}), "s")
    assert {group["name"]: group["lr"] for group in built.param_groups} == {
        "encoder": 1e-5,
        "rest": 1e-3,
    }
    assert optimiser.set_rate(built, 0.5) == 0.5e-5
    assert [group["lr"] for group in built.param_groups] == [0.5e-5, 0.5e-3]


def test_a_rate_of_zero_freezes_a_group() -> None:
    model = Grouped()
    built = optimiser.build(model, Stage(epochs=1, learning_rates={"encoder": 0}), "s")
    before = {name: value.clone() for name, value in model.named_parameters()}
    step(model, built, torch.ones(1, 2))
    assert torch.equal(model.encoder.weight, before["encoder.weight"])
    assert not torch.equal(model.decoder.weight, before["decoder.weight"])


def test_a_group_that_the_model_does_not_have_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"^s\.learning_rates\.encodr: .*did you mean 'encoder'"):
        optimiser.build(Grouped(), Stage(epochs=1, learning_rates={"encodr": 1.0}), "s")
    with pytest.raises(ConfigError, match="every group is frozen"):
        optimiser.build(nn.Linear(1, 1), Stage(epochs=1, learning_rates={"rest": 0}), "s")


@pytest.mark.parametrize("clip", [math.inf, 2.0, 0.1])
def test_the_gradient_becomes_that_of_the_mean_and_is_clipped(clip: float) -> None:
    parameters = [nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(1))]
    for parameter, gradient in zip(parameters, ([6.0, 0.0], [8.0]), strict=True):
        parameter.grad = torch.tensor(gradient)
    assert optimiser.normalise_gradient(parameters, count=10, clip=clip) == pytest.approx(1.0)
    length = min(1.0, clip)
    assert parameters[0].grad.tolist() == pytest.approx([0.6 * length, 0.0])
    assert parameters[1].grad.tolist() == pytest.approx([0.8 * length])


def test_an_optimiser_restored_by_names_goes_on_as_the_first_would() -> None:
    x = torch.tensor([[1.0, -2.0]])
    stage = Stage(epochs=1, optimiser="adamw", weight_decay=0.1)
    first = Grouped()
    built = optimiser.build(first, stage, "s")
    step(first, built, x)
    second = Grouped()
    second.load_state_dict(first.state_dict())
    again = optimiser.build(second, stage, "s")
    optimiser.restore(again, second, optimiser.tensors(built, first))
    step(first, built, x)
    step(second, again, x)
    for one, other in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(one, other)
