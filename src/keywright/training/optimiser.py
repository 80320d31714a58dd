"""The optimiser: parameter groups with their learning rates, and the gradient of a mean."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from keywright.config import Stage
from keywright.errors import ConfigError, nearest
from keywright.training.sm3 import SM3

REST = "rest"
"""The name of the group of all parameters that a model puts in no group."""


@runtime_checkable
class Grouped(Protocol):
    """A module that divides its parameters into groups, as every `Model` does."""

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]: ...


@runtime_checkable
class PartlyTrained(Protocol):
    """A module that may leave groups untrained, as every `Model` may."""

    def trained_groups(self) -> Collection[str] | None: ...


def groups(model: nn.Module) -> dict[str, list[nn.Parameter]]:
    """All parameters by group; those of a module without groups are all in the group `rest`."""
    named = model.parameter_groups() if isinstance(model, Grouped) else {}
    grouped = {id(parameter) for parameters in named.values() for parameter in parameters}
    rest = [parameter for parameter in model.parameters() if id(parameter) not in grouped]
    return {**named, REST: rest} if rest else named


def build(model: nn.Module, stage: Stage, path: str) -> torch.optim.Optimizer:
    """The optimiser of a stage; `path` is the path of the stage in the config.

    The base learning rate of a group is stored as `base`; schedules multiply it.
    """
    found = groups(model)
    known = found.keys() | {_parent(name) for name in found}
    for name in stage.learning_rates:
        if name not in known:
            raise ConfigError(
                f"{path}.learning_rates.{name}: the model has no parameter group of this name"
                f"{nearest(name, sorted(known))}"
            )
    chosen = model.trained_groups() if isinstance(model, PartlyTrained) else None
    settings: list[dict[str, Any]] = []
    for name, parameters in found.items():
        rates = stage.learning_rates
        usual = stage.learning_rate if chosen is None or name in chosen else 0.0
        rate = rates.get(name, rates.get(_parent(name), usual))
        for parameter in parameters:
            parameter.requires_grad_(rate > 0)
        if rate > 0:
            settings.append({"params": parameters, "lr": rate, "base": rate, "name": name})
    if not settings:
        raise ConfigError(
            f"{path}.learning_rates: all parameter groups are frozen; "
            "give at least one a learning rate greater than 0"
        )
    return _made(settings, stage)


def _made(settings: list[dict[str, Any]], stage: Stage) -> torch.optim.Optimizer:
    rate, decay = stage.learning_rate, stage.weight_decay
    if stage.optimiser == "sm3":
        return SM3(settings, lr=rate, momentum=stage.betas[0], weight_decay=decay)
    if stage.optimiser == "adafactor":
        return torch.optim.Adafactor(settings, lr=rate, weight_decay=decay)
    kind = torch.optim.Adam if stage.optimiser == "adam" else torch.optim.AdamW
    return kind(
        settings,
        lr=rate,
        betas=stage.betas,
        eps=stage.epsilon,
        weight_decay=decay,
        fused=True,  # one pass over memory instead of a dozen; vocabulary matrices are large
    )


def _parent(name: str) -> str:
    """`encoder.3` has the learning rate of `encoder`, unless it has one of its own."""
    return name.partition(".")[0]


def set_rate(optimiser: torch.optim.Optimizer, factor: float) -> float:
    """Set the learning rate of every group to its base times `factor`; returns the first one."""
    for group in optimiser.param_groups:
        group["lr"] = group["base"] * factor
    return float(optimiser.param_groups[0]["lr"])


def trained(optimiser: torch.optim.Optimizer) -> list[nn.Parameter]:
    return [parameter for group in optimiser.param_groups for parameter in group["params"]]


def normalise_gradient(parameters: Sequence[nn.Parameter], divisor: float, clip: float) -> float:
    """Divide the gradient by `divisor`, then limit its norm to `clip`.

    Returns the norm before clipping.
    """
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    norms = torch.stack([torch.linalg.vector_norm(gradient) for gradient in gradients])
    norm = float(torch.linalg.vector_norm(norms)) / divisor
    factor = min(1.0, clip / norm if norm else 1.0) / divisor
    for gradient in gradients:
        gradient.mul_(factor)
    return norm


def tensors(optimiser: torch.optim.Optimizer, model: nn.Module) -> dict[str, Tensor]:
    """The state of the optimiser, by the names of parameters rather than their order."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    return {
        f"{key}/{names[id(parameter)]}": value
        for parameter, memory in optimiser.state.items()
        for key, value in memory.items()
    }


def restore(
    optimiser: torch.optim.Optimizer, model: nn.Module, saved: Mapping[str, Tensor]
) -> None:
    """Restore what `tensors` returned. Parameters without state have not been updated yet."""
    parameters = dict(model.named_parameters())
    for path, value in saved.items():
        key, _, name = path.partition("/")
        parameter = parameters[name]
        optimiser.state[parameter][key] = value.to(parameter.device).clone()
