"""Greedy search: every row says its most likely token until it ends."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from keywright.data.batch import Batch
from keywright.decoding._rows import grow
from keywright.decoding._rules import Rules
from keywright.nn.generator import Generator
from keywright.runtime.options import Options
from keywright.runtime.phrases import Found


@dataclass(frozen=True, kw_only=True)
class Config(Options):
    pass


def search(config: Config, model: Generator, batch: Batch, rules: Rules) -> Found:
    return grow(model, batch, rules, _likeliest)


def _likeliest(log_probs: Tensor, rows: Tensor) -> Tensor:
    return log_probs.argmax(1)  # of equals the first
