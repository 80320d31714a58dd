"""F1 with an adaptive cut-off (Chan et al. 2019, section 4.2): recall while too few are predicted.

Precision divides by the number of predictions or of gold phrases, whichever is larger. So up to as
many predictions as gold phrases, precision equals recall and so does F1: the policy is encouraged
to predict enough phrases. Beyond that, it is the usual F1. A repeated phrase counts as wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keywright.matches import Part
from keywright.metric import harmonic, ratio
from keywright.reward import RewardContext
from keywright.rewards._phrases import PhraseReader, counts
from keywright.types import Document


@dataclass(frozen=True)
class Config:
    # Off: the plain F1 of all predictions.
    adaptive: bool = True


class F1Reward:
    def __init__(self, config: Config, read: PhraseReader):
        self._adaptive = config.adaptive
        self._read = read

    def __call__(
        self, documents: Sequence[Document], phrases: Sequence[Sequence[str]], part: Part
    ) -> list[float]:
        correct, predicted, targets = counts(self._read(documents, phrases, part))
        divisor = np.maximum(predicted, targets) if self._adaptive else predicted
        found: list[float] = harmonic(ratio(correct, divisor), ratio(correct, targets)).tolist()
        return found


def build(config: Config, context: RewardContext) -> F1Reward:
    return F1Reward(config, PhraseReader(context.protocol))
