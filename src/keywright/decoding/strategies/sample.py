"""Sampling: every row draws its tokens from the model's distribution, sharpened or truncated.

The random numbers of a document depend only on the seed and its text, so that it gets the same
sample alone or in a batch, and when an interrupted run is resumed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from keywright.config import Count, Natural, Positive, Share
from keywright.data.batch import Batch
from keywright.decoding import draws
from keywright.decoding.options import Options
from keywright.decoding.phrases import Found
from keywright.decoding.rules import DecodingRules
from keywright.decoding.strategies._rows import grow
from keywright.nn.generator import Generator
from keywright.types import Document


@dataclass(frozen=True, kw_only=True)
class Config(Options):
    temperature: Positive = 1.0
    top_k: Count | None = None  # draw from the k most likely tokens only
    top_p: Share = 1.0  # draw from the most likely tokens whose total probability reaches p
    seed: Natural = 1


def search(config: Config, model: Generator, batch: Batch, rules: DecodingRules) -> Found:
    numbers = uniform(config.seed, batch.documents, model.rows_per_document, rules.max_length)
    steps = iter(numbers.to(batch.source.device).T)

    def choose(log_probs: Tensor, rows: Tensor) -> Tensor:
        return draw(truncated(log_probs / config.temperature, config), next(steps)[rows])

    return grow(model, batch, rules, choose)


def uniform(seed: int, documents: Sequence[Document], rows: int, length: int) -> Tensor:
    """Random numbers [documents * rows, length] in [0, 1), which depend on seed and texts only."""
    return torch.from_numpy(draws.uniform(seed, documents, rows, length))


def truncated(logits: Tensor, config: Config) -> Tensor:
    """`logits` [R, V + X] with -inf for tokens that top-k and top-p exclude.

    Among equals the first are kept. Top-p applies to the distribution that top-k leaves.
    """
    if config.top_k is None and config.top_p == 1:
        return logits
    values, order = logits.sort(dim=1, descending=True, stable=True)
    if config.top_k is not None:
        values[:, config.top_k :] = -math.inf
    mass = values.double().softmax(1)
    values[mass.cumsum(1) - mass >= config.top_p] = -math.inf  # earlier tokens have enough mass
    return torch.full_like(logits, -math.inf).scatter(1, order, values)


def draw(logits: Tensor, uniform: Tensor) -> Tensor:
    """The token [R] at which the cumulative probability of each row exceeds `uniform` [R]."""
    cumulative = logits.double().softmax(1).cumsum(1)
    # Rounding may leave the total below 1, so the threshold is a share of the actual total. It must
    # be less than the total, or no token would exceed it.
    total = cumulative[:, -1:]
    below = torch.nextafter(total, torch.zeros_like(total))
    threshold = torch.minimum(uniform[:, None] * total, below)
    return torch.searchsorted(cumulative, threshold, right=True).squeeze(1)
