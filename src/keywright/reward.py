"""What a reward is: how good the phrases are that a policy predicted for documents.

One file of `rewards/` is one reward. Present and absent phrases are rewarded separately (Chan et
al. 2019): the caller passes the phrases of one part and says which part it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from keywright import config as configs
from keywright import protocol
from keywright.errors import ConfigError, KeywrightError
from keywright.matches import PARTS, Part
from keywright.types import Document

# What every reward is tried on before a training starts: it has gold in both parts.
_EXAMPLE = Document(
    title="heat pumps", body="heat pumps warm old houses .", keyphrases=("heat pumps", "insulation")
)


class Reward(Protocol):
    def __call__(
        self, documents: Sequence[Document], phrases: Sequence[Sequence[str]], part: Part
    ) -> list[float]:
        """A finite number for each document.

        `phrases[i]` are all phrases predicted in one part of `documents[i]`, in their order and
        with their repeats, each as words joined by blanks. Which part a prediction belongs to is
        the caller's decision; the gold of a part is what the protocol says it is. "all" compares
        with all gold phrases.
        """


class RewardContext(Protocol):
    """What a reward may ask for when it is built."""

    @property
    def protocol(self) -> protocol.Protocol:
        """Stems phrases and splits the gold into present and absent."""


@dataclass(frozen=True)
class PlainContext:
    """The context of a reward that is used outside of training."""

    protocol: protocol.Protocol


def build(chosen: configs.Part, context: RewardContext, path: str) -> Reward:
    """The reward that a part of a config describes, tried out once.

    `path` is the position of the part in the config, for error messages.
    """
    module, settings = configs.part(chosen, "keywright.rewards", path)
    try:
        reward: Reward = module.build(settings, context)
    except ConfigError as error:
        raise ConfigError(f"{path}.{error}") from None
    try:
        _try(reward)
    except KeywrightError as error:
        raise ConfigError(f"{path}: {error}") from None
    return reward


def _try(reward: Reward) -> None:
    """An error now instead of weights that are not numbers later."""
    phrases = [["heat pumps", "old houses", "heat pumps"], []]
    for part in PARTS:
        scores = reward([_EXAMPLE] * len(phrases), phrases, part)
        if len(scores) != len(phrases):
            raise ConfigError(
                f"gives {len(scores)} scores for {len(phrases)} documents; "
                "a reward must give one per document"
            )
        for score in scores:
            if not math.isfinite(score):
                raise ConfigError(
                    f"gives {score} for the phrases of an example document, which is not "
                    "a finite number"
                )
