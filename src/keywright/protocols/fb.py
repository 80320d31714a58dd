"""fb: the fine-grained evaluation of Luo et al. (2021) with a scorer, for the metric FB.

It matches as fg does, and names the scorer that FB uses: `fb:scorer=runs/fb_scorer`. The scorer is
part of the signature, because the scores of different scorers cannot be compared.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from keywright.protocols import fg

# It needs a scorer, and its matches are those of fg.
VARIANTS: tuple[tuple[str, ...], ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(fg.Config):
    # Run folder of the scorer that the metric FB uses; see docs/reinforcement.md.
    scorer: str = ""


class ContinuousScore(fg.FineGrained):
    name = "fb"
    standard: ClassVar[tuple[str, ...]] = (
        "present.FB", "present.FG", "absent.FB", "absent.FG", "present.F1@5", "present.F1@M",
        "all.MAE", "all.Dup",
    )  # fmt: skip

    config: Config

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.rules = dataclasses.replace(self.rules, scorer=config.scorer)

    def facts(self) -> list[str]:
        scorer = self.config.scorer or "no scorer, so that FB cannot be computed"
        return [f"FB takes the similarity of phrases from {scorer}", *super().facts()]


def build(config: Config) -> ContinuousScore:
    return ContinuousScore(config)
