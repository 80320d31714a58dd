"""fg: the fine-grained evaluation of Luo et al. (2021).

It matches as chan19 does and reads an empty prediction line as the RL release does. What differs is
what it reports: FG, its ablations, and token-level precision, recall and F1.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar, Literal

from keywright.protocols import chan19

# Side by side with chan19 it would repeat the same numbers: every protocol lists FG.
VARIANTS: tuple[tuple[str, ...], ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(chan19.Config):
    release: Literal["one2set", "rl"] = "rl"


class FineGrained(chan19.Chan19):
    name = "fg"
    standard: ClassVar[tuple[str, ...]] = (
        "present.FG", "present.FG-edit", "present.FG-token", "present.FG-repetition",
        "present.FG-quantity", "present.TokenP", "present.TokenR", "present.TokenF1", "absent.FG",
        "present.F1@5", "present.F1@M", "all.MAE", "all.Dup",
    )  # fmt: skip

    def facts(self) -> list[str]:
        return [
            "phrases are matched as in chan19, but FG scores them by degree: edit distance and "
            "token F1 with the best target, with a repetition and a quantity penalty",
            "a document with neither present gold nor present predictions has an FG of 1",
            *super().facts(),
        ]


def build(config: Config) -> FineGrained:
    return FineGrained(config)
