"""Recall: the share of gold phrases that are predicted, however many phrases that takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from keywright.matches import Part
from keywright.metric import ratio
from keywright.reward import RewardContext
from keywright.rewards._phrases import PhraseReader, counts
from keywright.types import Document


@dataclass(frozen=True)
class Config:
    pass


class RecallReward:
    def __init__(self, read: PhraseReader):
        self._read = read

    def __call__(
        self, documents: Sequence[Document], phrases: Sequence[Sequence[str]], part: Part
    ) -> list[float]:
        correct, _, targets = counts(self._read(documents, phrases, part))
        found: list[float] = ratio(correct, targets).tolist()
        return found


def build(config: Config, context: RewardContext) -> RecallReward:
    return RecallReward(PhraseReader(context.protocol))
