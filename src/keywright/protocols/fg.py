"""fg: the fine-grained evaluation of Luo et al. (2021).

It matches as chan19 does, with the RL release's reading of an empty prediction line; what differs
is what is reported: FG, its ablations, and token-level precision, recall and F1.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

from keywright.protocols import chan19

# Side by side with chan19 it would say the same twice: FG stands in every protocol's table.
VARIANTS: tuple[tuple[str, ...], ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(chan19.Config):
    release: Literal["one2set", "rl"] = "rl"


class FineGrained(chan19.Chan19):
    name = "fg"
    standard = (
        "present.FG", "present.FG-edit", "present.FG-token", "present.FG-repetition",
        "present.FG-quantity", "present.TokenP", "present.TokenR", "present.TokenF1", "absent.FG",
        "present.F1@5", "present.F1@M", "all.MAE", "all.Dup",
    )  # fmt: skip

    def facts(self) -> list[str]:
        return [
            "phrases are matched as in chan19, but FG scores them by degree: edit distance and "
            "token F1 with the best target, less a repetition and a quantity penalty",
            "a document with neither present gold nor present predictions has an FG of 1",
            *super().facts(),
        ]


def build(config: Config) -> FineGrained:
    return FineGrained(config)
