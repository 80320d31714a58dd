"""Expected F1: the phrases that agree best with many samples of the model.

The most likely sequence need not be the best answer: F1 rewards phrases that are likely in
themselves, whichever other phrases they come with. Here `samples` sequences stand for what the gold
phrases may be, and the prediction is the set of phrases whose mean F1 against them is largest
(minimum Bayes risk with 1 - F1 as the loss), found by `decoding.agreement`.

The score of a phrase is the share of samples that contain it. With a temperature of 1 this
estimates the probability that the model writes it, and is stated as its confidence.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from keywright.config import Count, Natural, Positive, Share
from keywright.data.batch import Batch
from keywright.data.targets import Paradigm
from keywright.decoding.options import Agreement, Options, Ranking
from keywright.decoding.phrases import Found
from keywright.decoding.rules import DecodingRules
from keywright.decoding.strategies._rows import Repeated, grow
from keywright.decoding.strategies.sample import draw, uniform
from keywright.errors import ConfigError
from keywright.nn.generator import Generator


@dataclass(frozen=True, kw_only=True)
class Config(Options):
    samples: Count = 64
    temperature: Positive = 1.0
    seed: Natural = 1
    min_share: Share = 0.03  # of the samples, for a phrase to be listed
    all_phrases: bool = False  # list all such phrases, not only the best set

    def beams(self, paradigm: Paradigm) -> int:
        return self.samples

    def ranking(self, paradigm: Paradigm) -> Ranking:
        if paradigm == "one2one":
            raise ConfigError(
                "decode: expected_f1 compares sets of phrases, and a One2One model writes one "
                "phrase at a time; choose 'exhaustive'"
            )
        return Agreement(self.min_share, self.all_phrases, stated=self.temperature == 1)


def search(config: Config, model: Generator, batch: Batch, rules: DecodingRules) -> Found:
    """For every row of the model its hypothesis in each sample."""
    repeated = Repeated(model, config.samples)
    draws = uniform(config.seed, batch.documents, repeated.rows_per_document, rules.max_length)
    steps = iter(draws.to(batch.source.device).T)

    def choose(log_probs: Tensor, rows: Tensor) -> Tensor:
        return draw(log_probs / config.temperature, next(steps)[rows])

    drawn = [hypothesis for [hypothesis] in grow(repeated, batch, rules, choose)]
    return [drawn[row : row + config.samples] for row in range(0, len(drawn), config.samples)]
