"""FB: FG with the similarity that a trained scorer finds (Luo et al. 2021, section 3.4).

A prediction scores the best similarity with any gold phrase (equation 8), and algorithm 1 turns
the scores of a document into one number, as printed in the paper: with the repetition and the
quantity penalty. The release does less: see `algorithm`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from keywright.config import Probability
from keywright.errors import ConfigError, KeywrightError
from keywright.matches import Part
from keywright.metric import Array, ratio
from keywright.metrics import fg
from keywright.metrics.fb import (
    PairScores,
    Sides,
    best_similarities,
    lengths,
    load_scorer,
    penalise_repetition,
)
from keywright.reward import RewardContext
from keywright.rewards._phrases import REPEATED, PhraseReader
from keywright.types import Document

# What the release's shortcut gives for predictions in a part that has no gold.
NO_GOLD = -0.01


@dataclass(frozen=True)
class Config:
    scorer: str  # run folder of a scorer, made by `keywright train configs/fb_scorer.toml`
    # bf16 computes similarities faster on processors that have it, with two or three exact digits.
    precision: Literal["fp32", "bf16"] = "fp32"
    # release: no repetition penalty, a harsher quantity penalty (negative for more than twice as
    # many predictions as gold phrases), -0.01 for predictions in a part without gold, and 0 for a
    # part without gold and predictions. The settings below then have no effect.
    algorithm: Literal["paper", "release"] = "paper"
    repetition: bool = True
    quantity: bool = True
    give_back: bool = False  # see the reward fg; algorithm 1 as printed does not
    both_empty: Probability = fg.BOTH_EMPTY_AS_REWARD


class FBReward:
    def __init__(self, config: Config, read: PhraseReader, scorer: PairScores):
        self._config = config
        self._read = read
        self._scorer = scorer

    def __call__(
        self, documents: Sequence[Document], phrases: Sequence[Sequence[str]], part: Part
    ) -> list[float]:
        compared = self._read(documents, phrases, part)
        sides: list[Sides] = [(both.predictions, both.gold.targets) for both in compared]
        best = best_similarities(sides, self._scorer, unscored=REPEATED)
        totals = np.array(list(map(self._sum, sides, best)))
        targets, predicted = lengths(sides)
        if self._config.algorithm == "release":
            scores = shortcut(totals, targets, predicted)
        else:
            without = "" if self._config.quantity else "quantity"
            scores = fg.mean_score(totals, targets, predicted, without, self._config.both_empty)
        found: list[float] = scores.tolist()
        return found

    def _sum(self, sides: Sides, similarities: list[float]) -> float:
        config = self._config
        if config.algorithm == "paper" and config.repetition:
            similarities = penalise_repetition(sides, similarities, config.give_back)
        return sum(similarities)


def shortcut(totals: Array, targets: Array, predicted: Array) -> Array:
    """What the release computes in the place of algorithm 1, of documents [documents]."""
    few = ratio(predicted, targets) ** 2
    many = 1.0 - ratio(targets - predicted, targets) ** 2
    scores = ratio(totals, predicted) * np.where(predicted < targets, few, many)
    return np.where((targets == 0) & (predicted > 0), NO_GOLD, scores)


def build(config: Config, context: RewardContext) -> FBReward:
    try:
        scorer = load_scorer(config.scorer, config.precision)
    except KeywrightError as error:
        raise ConfigError(f"scorer: {error}") from None
    return FBReward(config, PhraseReader(context.protocol), scorer)
