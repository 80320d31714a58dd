"""Greedy decoding: every row generates its most likely token until it ends."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from keywright.data.batch import Batch
from keywright.decoding.options import Options
from keywright.decoding.phrases import Found
from keywright.decoding.rules import DecodingRules
from keywright.decoding.strategies._rows import grow
from keywright.nn.generator import Generator


@dataclass(frozen=True, kw_only=True)
class Config(Options):
    pass


def search(config: Config, model: Generator, batch: Batch, rules: DecodingRules) -> Found:
    return grow(model, batch, rules, _most_likely)


def _most_likely(log_probs: Tensor, rows: Tensor) -> Tensor:
    return log_probs.argmax(1)  # the first of equal ones
