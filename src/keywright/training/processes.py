"""The processes that train together: one by default, several under `torchrun`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import accelerate
import torch
from accelerate.utils import reduce
from torch import nn

from keywright.errors import KeywrightError


class Processes:
    """This process, and sums over all processes."""

    def __init__(self) -> None:
        # Without this accelerate takes every process for the only one, unless there are GPUs.
        together = int(os.environ.get("WORLD_SIZE", "1")) > 1
        self._state = accelerate.PartialState(cpu=together and not torch.accelerator.is_available())
        self.rank: int = self._state.process_index
        self.count: int = self._state.num_processes
        self.main: bool = self._state.is_main_process
        self.device: torch.device = self._state.device

    def sum(self, values: Sequence[float]) -> list[float]:
        if self.count == 1:
            return list(values)
        # MPS is the only device without float64, and it does not support several processes.
        tensor = torch.tensor(values, dtype=torch.float64, device=self.device)
        with _together():
            summed: list[float] = reduce(tensor, "sum").tolist()
        return summed

    def sum_gradients(self, parameters: Sequence[nn.Parameter]) -> None:
        """In place, with one transfer for all; also right if a process did not use a parameter."""
        if self.count == 1:
            return
        for parameter in parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        with _together():
            summed = reduce(torch.cat([gradient.flatten() for gradient in gradients]), "sum")
        offset = 0
        for gradient in gradients:
            gradient.copy_(summed[offset : offset + gradient.numel()].view_as(gradient))
            offset += gradient.numel()

    def wait(self) -> None:
        with _together():
            self._state.wait_for_everyone()


@contextmanager
def _together() -> Iterator[None]:
    """What all processes do together fails in each of them if one was lost."""
    try:
        yield
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:200]
        raise KeywrightError(
            f"another process of this training was lost ({reason}); start all of them again with "
            "--resume"
        ) from None
