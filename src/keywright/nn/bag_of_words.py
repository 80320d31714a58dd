"""The bag-of-words constraint of UniKeyphrase (Wu et al. 2021).

The words that a model predicts should, all together, be those of the gold phrases, whatever their
order. A *bag* counts the words of a document; that of predictions contains expected counts.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def schedule(progress: float) -> float:
    """The weight of the constraint, from 0 to 1, when a share `progress` of training is done."""
    return math.log1p((math.e - 1) * progress)


def bag(rows: Tensor, words: Tensor, amounts: Tensor, shape: tuple[int, int]) -> Tensor:
    """The bags `shape` = [B, V] to which N words [N] of documents `rows` [N] add `amounts` [N]."""
    flat = torch.zeros(shape[0] * shape[1], dtype=amounts.dtype, device=amounts.device)
    return flat.index_add(0, rows * shape[1] + words, amounts).view(shape)


def difference(predicted: Tensor, gold: Tensor, likeliest: Tensor) -> Tensor:
    """The squared difference of bags [B, V], divided by the number of words involved: [B].

    These are the words in the gold bag or in the bag of the `likeliest` predictions.
    """
    involved = ((gold > 0) | (likeliest > 0)).sum(dim=1).clamp(min=1)
    return (predicted - gold).square().sum(dim=1) / involved


def release_difference(rows: Tensor, words: Tensor, logits: Tensor, gold: Tensor) -> Tensor:
    """The constraint for tagged words as the authors' release computes it: [B].

    `logits` [N, K] are those of the tags of N words, the first tag being O. Every word whose
    likeliest tag is another adds a softmax over the vocabulary in which its own logit is that of
    the tag, and all others are 0. Only the words involved are compared.
    """
    shape = (gold.shape[0], gold.shape[1])
    largest, likeliest = logits.max(dim=1)
    inside = likeliest != 0
    rows, words, largest = rows[inside], words[inside], largest[inside]
    # p of the word itself and of every other word of the vocabulary
    rest = 1 / (largest.exp() + shape[1] - 1)
    predicted = bag(rows, words, 1 - rest * (shape[1] - 1) - rest, shape)
    predicted = predicted + gold.new_zeros(shape[0]).index_add(0, rows, rest)[:, None]
    involved = (gold > 0) | (bag(rows, words, torch.ones_like(largest), shape) > 0)
    error = (predicted - gold).square().masked_fill(~involved, 0.0)
    return error.sum(dim=1) / involved.sum(dim=1).clamp(min=1)
