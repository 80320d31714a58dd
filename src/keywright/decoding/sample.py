"""Sampling: every row draws its tokens from the model's distribution, sharpened or cut.

The draws of a document come from the seed and its text alone, so that it gets the same sample
alone or in a batch, today or when an interrupted run is resumed.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Annotated

import torch
from msgspec import Meta
from torch import Tensor

from keywright.config import Count, Natural, Positive
from keywright.data.batch import Batch
from keywright.decoding._rows import grow
from keywright.decoding._rules import Rules
from keywright.nn.generator import Generator
from keywright.runtime.options import Options
from keywright.runtime.phrases import Found
from keywright.types import Document

Share = Annotated[float, Meta(gt=0, le=1)]


@dataclass(frozen=True, kw_only=True)
class Config(Options):
    temperature: Positive = 1.0
    top_k: Count | None = None  # only the so many likeliest tokens
    top_p: Share = 1.0  # only the likeliest tokens that together are at least so likely
    seed: Natural = 1


def search(config: Config, model: Generator, batch: Batch, rules: Rules) -> Found:
    shape = (model.rows_per_document, rules.max_length)
    draws = torch.cat([_uniform(config.seed, document, shape) for document in batch.documents])
    draws = draws.to(batch.source.device)  # [R, max_length]
    steps = iter(draws.T)

    def choose(log_probs: Tensor, rows: Tensor) -> Tensor:
        return draw(truncated(log_probs / config.temperature, config), next(steps)[rows])

    return grow(model, batch, rules, choose)


def _uniform(seed: int, document: Document, shape: tuple[int, int]) -> Tensor:
    digest = hashlib.blake2b(f"{seed}\n{document.text}".encode(errors="surrogatepass"))
    generator = torch.Generator().manual_seed(int.from_bytes(digest.digest()[:7], "big"))
    return torch.rand(shape, generator=generator, dtype=torch.float64)


def truncated(logits: Tensor, config: Config) -> Tensor:
    """`logits` [R, V + X] with -inf for what top-k and top-p leave out; of equals the first stay.

    Top-p counts the mass that top-k has left.
    """
    if config.top_k is None and config.top_p == 1:
        return logits
    values, order = logits.sort(dim=1, descending=True, stable=True)
    if config.top_k is not None:
        values[:, config.top_k :] = -math.inf
    mass = values.double().softmax(1)
    values[mass.cumsum(1) - mass >= config.top_p] = -math.inf  # what precedes is enough already
    return torch.full_like(logits, -math.inf).scatter(1, order, values)


def draw(logits: Tensor, uniform: Tensor) -> Tensor:
    """The token [R] at which the cumulated probability of each row passes `uniform` [R]."""
    cumulated = logits.double().softmax(1).cumsum(1)
    # Rounding may leave the total short of 1: the draw is a share, less than all, of what there is.
    total = cumulated[:, -1:]
    below = torch.nextafter(total, torch.zeros_like(total))
    threshold = torch.minimum(uniform[:, None] * total, below)
    return torch.searchsorted(cumulated, threshold, right=True).squeeze(1)
