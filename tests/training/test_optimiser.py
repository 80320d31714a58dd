from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from keywright.config import Stage
from keywright.errors import ConfigError
from keywright.nn.model import Model
from keywright.training import optimiser
from keywright.training.sm3 import SM3


class Grouped(Model):
    """Only what an optimiser needs."""

    encode = start = step = loss = None

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


def test_groups_have_their_own_rates_and_schedules_scale_all_of_them() -> None:
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
    with pytest.raises(ConfigError, match="all parameter groups are frozen"):
        optimiser.build(nn.Linear(1, 1), Stage(epochs=1, learning_rates={"rest": 0}), "s")


@pytest.mark.parametrize("clip", [math.inf, 2.0, 0.1])
def test_the_gradient_is_divided_and_clipped(clip: float) -> None:
    parameters = [nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(1))]
    for parameter, gradient in zip(parameters, ([6.0, 0.0], [8.0]), strict=True):
        parameter.grad = torch.tensor(gradient)
    assert optimiser.normalise_gradient(parameters, divisor=10, clip=clip) == pytest.approx(1.0)
    length = min(1.0, clip)
    assert parameters[0].grad.tolist() == pytest.approx([0.6 * length, 0.0])
    assert parameters[1].grad.tolist() == pytest.approx([0.8 * length])


def test_a_restored_optimiser_continues_as_the_original_would() -> None:
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
    for ours, theirs in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def descend(kind: str, updates: int = 3, **settings: object) -> tuple[nn.Module, nn.Module]:
    """A trained matrix, and the same one stopped after each update and restored."""
    torch.manual_seed(1)
    stage = Stage(epochs=1, optimiser=kind, learning_rate=0.1, **settings)  # type: ignore[arg-type]
    models = [nn.Linear(3, 4), nn.Linear(3, 4)]
    models[1].load_state_dict(models[0].state_dict())
    built = [optimiser.build(model, stage, "s") for model in models]
    for x in torch.randn(updates, 2, 3):
        saved = {
            name: value.clone() for name, value in optimiser.tensors(built[1], models[1]).items()
        }
        built[1] = optimiser.build(models[1], stage, "s")
        optimiser.restore(built[1], models[1], saved)
        for model, own in zip(models, built, strict=True):
            own.zero_grad()
            model(x).square().sum().backward()
            own.step()
    return models[0], models[1]


@pytest.mark.parametrize("kind", ["adam", "adamw", "sm3", "adafactor"])
def test_every_optimiser_continues_from_its_saved_state(kind: str) -> None:
    whole, resumed = descend(kind, weight_decay=0.01)
    for ours, theirs in zip(whole.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_sm3_bounds_every_weight_by_its_row_and_column() -> None:
    """Two updates of a 2 x 2 matrix by hand, as in algorithm SM3-II."""
    weight = nn.Parameter(torch.zeros(2, 2))
    sm3 = SM3([weight], lr=1.0)
    weight.grad = torch.tensor([[1.0, 2.0], [0.0, 3.0]])
    sm3.step()
    # The first sums are the squares themselves, so that every step has length 1.
    assert torch.allclose(weight, torch.tensor([[-1.0, -1.0], [0.0, -1.0]]))
    assert sm3.state[weight]["slices_0"].flatten().tolist() == [4.0, 9.0]
    assert sm3.state[weight]["slices_1"].flatten().tolist() == [1.0, 9.0]
    weight.grad = torch.ones(2, 2)
    sm3.step()
    sums = torch.tensor([[1.0, 4.0], [1.0, 9.0]]) + 1
    expected = torch.tensor([[-1.0, -1.0], [0.0, -1.0]]) - sums.rsqrt()
    assert torch.allclose(weight, expected)
    assert sm3.state[weight]["slices_0"].flatten().tolist() == [5.0, 10.0]


def test_sm3_and_adafactor_need_less_memory_than_adam() -> None:
    def stored(kind: str) -> int:
        stage = Stage(epochs=1, optimiser=kind, betas=(0.0, 0.999))  # type: ignore[arg-type]
        model = nn.Linear(50, 40, bias=False)
        built = optimiser.build(model, stage, "s")
        model(torch.ones(1, 50)).sum().backward()
        built.step()
        return sum(value.numel() for value in optimiser.tensors(built, model).values())

    assert stored("adam") == 2 * 50 * 40 + 1
    assert stored("sm3") == 50 + 40
    assert stored("adafactor") == 50 + 40 + 1


def test_a_layer_has_the_rate_of_its_part_unless_it_has_its_own() -> None:
    class Layered(Grouped):
        def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
            return {
                "encoder.0": list(self.encoder.parameters()),
                "encoder.1": list(self.decoder.parameters()),
            }

    rates = {"encoder": 1e-5, "encoder.1": 1e-4}
    built = optimiser.build(Layered(), Stage(epochs=1, learning_rates=rates), "s")
    assert [group["lr"] for group in built.param_groups] == [1e-5, 1e-4]
