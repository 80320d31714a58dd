"""Expected F1: the phrases that agree best with many samples of the model.

The most likely sequence need not be the best answer: F1 rewards phrases that are likely in
themselves, whichever other phrases they come with. Here `samples` sequences stand for what the gold
phrases may be, and the prediction is the set of phrases whose mean F1 against them is largest
(minimum Bayes risk with 1 - F1 as the loss), found by `decoding.agreement`.

The score of a phrase is the share of samples that contain it. With a temperature of 1 this
estimates the probability that the model writes it, and is stated as its confidence.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from keywright.data.batch import Batch
from keywright.decoding.draws import in_portions, uniform
from keywright.decoding.options import ExpectedF1
from keywright.decoding.phrases import Found
from keywright.decoding.rules import DecodingRules
from keywright.decoding.strategies._rows import Repeated, grow
from keywright.decoding.strategies.sample import draw
from keywright.nn.generator import Generator

Config = ExpectedF1


def search(config: Config, model: Generator, batch: Batch, rules: DecodingRules) -> Found:
    """For every row of the model its hypothesis in each sample."""
    rows = model.rows_per_document * config.samples
    draws = uniform(config.seed, batch.documents, rows, rules.max_length)

    def drawn(numbers: NDArray[np.float64], times: int) -> Found:
        steps = iter(torch.from_numpy(numbers).to(batch.source.device).T)

        def choose(log_probs: Tensor, rows: Tensor) -> Tensor:
            return draw(log_probs / config.temperature, next(steps)[rows])

        return grow(Repeated(model, times), batch, rules, choose)

    return in_portions(draws, config.samples, drawn)
