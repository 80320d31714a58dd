"""The fine-grained score FG as a reward (Luo et al. 2021, section 3.3).

Its formulas are those of the metric `FG`. What differs is what a reward sees: a repeated prediction
counts as a wrong one, and a part without gold and without predictions is worth 0.5, not 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keywright.config import Probability
from keywright.matches import Part
from keywright.metrics import fg
from keywright.reward import RewardContext
from keywright.rewards._phrases import Compared, PhraseReader
from keywright.types import Document


@dataclass(frozen=True)
class Config:
    """The first four are the parts of FG; table 2 of the paper switches off one at a time."""

    edit: bool = True  # edit distance
    token: bool = True  # token F1
    repetition: bool = True  # repetition rate penalty
    quantity: bool = True  # generation quantity penalty
    # The words of a phrase that was rejected as repetition may be used again, as in the release;
    # algorithm 1 as printed does not allow it.
    give_back: bool = True
    smallest: Probability = fg.SMALLEST_SCORE  # scores up to this become 0; not in the paper
    both_empty: Probability = fg.BOTH_EMPTY_AS_REWARD  # of a part without gold and predictions

    def __post_init__(self) -> None:
        if not (self.edit or self.token):
            raise ValueError(
                "has neither edit nor token, so that every phrase would score 0; keep one of them"
            )


class FGReward:
    def __init__(self, config: Config, read: PhraseReader):
        self._config = config
        self._read = read
        self._without = "" if config.quantity else "quantity"

    def __call__(
        self, documents: Sequence[Document], phrases: Sequence[Sequence[str]], part: Part
    ) -> list[float]:
        compared = self._read(documents, phrases, part)
        scores = fg.mean_score(
            np.array(list(map(self._sum, compared))),
            np.array([float(len(both.gold.targets)) for both in compared]),
            np.array([float(len(both.predictions)) for both in compared]),
            self._without,
            self._config.both_empty,
        )
        found: list[float] = scores.tolist()
        return found

    def _sum(self, compared: Compared) -> float:
        """The scores of a document's predictions, after the repetition penalty."""
        config, targets = self._config, compared.gold.targets
        found = fg.likenesses(compared.predictions, targets)
        if config.edit and config.token:
            scores = [likeness.both for likeness in found]
        else:
            scores = [likeness.edit if config.edit else likeness.f1 for likeness in found]
        scores = fg.above_threshold(scores, config.smallest)
        if config.repetition and any(scores):
            tokens = [likeness.tokens for likeness in found]
            scores = fg.reject_repetition(tokens, scores, targets, config.give_back)
        return sum(scores)


def build(config: Config, context: RewardContext) -> FGReward:
    return FGReward(config, PhraseReader(context.protocol))
