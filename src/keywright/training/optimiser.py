"""Parameter groups with their learning rates, the optimiser, and the gradient it is given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import torch
from torch import Tensor, nn

from keywright.config import Stage
from keywright.errors import ConfigError, nearest

REST = "rest"
"""The group of parameters that a model puts in no group."""


def groups(model: nn.Module) -> dict[str, list[nn.Parameter]]:
    """The model's parameters by the names of its own `parameter_groups()`, where it has any."""
    split: Callable[[], Mapping[str, Iterable[nn.Parameter]]] | None
    split = getattr(model, "parameter_groups", None)
    named = {} if split is None else split()
    result = {name: list(parameters) for name, parameters in named.items()}
    grouped = {id(parameter) for parameters in result.values() for parameter in parameters}
    rest = [parameter for parameter in model.parameters() if id(parameter) not in grouped]
    return {**result, REST: rest} if rest else result


def build(model: nn.Module, stage: Stage, path: str) -> torch.optim.Optimizer:
    """The optimiser of a stage. `path` is where the stage stands in the config.

    A group's base learning rate is kept as `base`, for the schedule to multiply.
    """
    found = groups(model)
    for name in stage.learning_rates:
        if name not in found:
            raise ConfigError(
                f"{path}.learning_rates.{name}: the model has no such group of parameters"
                f"{nearest(name, found)}"
            )
    settings = []
    for name, parameters in found.items():
        rate = stage.learning_rates.get(name, stage.learning_rate)
        for parameter in parameters:
            parameter.requires_grad_(rate > 0)
        if rate > 0:
            settings.append({"params": parameters, "lr": rate, "base": rate, "name": name})
    if not settings:
        raise ConfigError(f"{path}.learning_rates: every group is frozen; nothing would be learnt")
    kind = torch.optim.Adam if stage.optimiser == "adam" else torch.optim.AdamW
    return kind(
        settings,
        lr=stage.learning_rate,
        betas=stage.betas,
        eps=stage.epsilon,
        weight_decay=stage.weight_decay,
        fused=True,  # one pass over memory instead of a dozen: the vocabulary's matrices are large
    )


def set_rate(optimiser: torch.optim.Optimizer, factor: float) -> float:
    """Every group's learning rate becomes its base times `factor`; the first one is returned."""
    for group in optimiser.param_groups:
        group["lr"] = group["base"] * factor
    return float(optimiser.param_groups[0]["lr"])


def trained(optimiser: torch.optim.Optimizer) -> list[nn.Parameter]:
    return [parameter for group in optimiser.param_groups for parameter in group["params"]]


def normalise_gradient(parameters: Sequence[nn.Parameter], count: float, clip: float) -> float:
    """Turn the gradient of a sum into that of a mean over `count`, no longer than `clip`.

    The norm before clipping is returned.
    """
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    norms = torch.stack([torch.linalg.vector_norm(gradient) for gradient in gradients])
    norm = float(torch.linalg.vector_norm(norms)) / count
    factor = min(1.0, clip / norm if norm else 1.0) / count
    for gradient in gradients:
        gradient.mul_(factor)
    return norm


def tensors(optimiser: torch.optim.Optimizer, model: nn.Module) -> dict[str, Tensor]:
    """The optimiser's memory by the names of the parameters, not by their order."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    return {
        f"{key}/{names[id(parameter)]}": value
        for parameter, memory in optimiser.state.items()
        for key, value in memory.items()
    }


def restore(
    optimiser: torch.optim.Optimizer, model: nn.Module, saved: Mapping[str, Tensor]
) -> None:
    """Put back what `tensors` gave. Parameters without memory have not been updated yet."""
    parameters = dict(model.named_parameters())
    for path, value in saved.items():
        key, _, name = path.partition("/")
        parameter = parameters[name]
        optimiser.state[parameter][key] = value.to(parameter.device).clone()
