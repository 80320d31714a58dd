"""Exhaustive decoding: the phrases of every beam, not only of the best (Yuan et al. 2020, 3.3.1).

The way to get many phrases from a One2One model, and more than the model would settle for from the
others. Each phrase is listed once; `rank` says by what:

- `sequence`: the score of the best sequence that contains it, then its place there (as the paper's
  release does);
- `votes`: the probability of all found sequences that contain it, summed;
- `phrase`: the mean log-probability of its own tokens.

Where a sequence is one phrase (One2One, One2Set), the first two differ only for phrases that
several sequences share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from keywright.config import Count, NonNegative
from keywright.data.batch import Batch
from keywright.data.targets import Paradigm
from keywright.decoding._rules import Rules
from keywright.decoding.beam import search_beams
from keywright.nn.generator import Generator
from keywright.runtime.options import Options, Ranking
from keywright.runtime.phrases import Found


@dataclass(frozen=True, kw_only=True)
class Config(Options):
    width: Count | None = None  # None: 200 for One2One, 50 otherwise
    length_normalisation: NonNegative = 0.0
    rank: Literal["sequence", "votes", "phrase"] = "sequence"
    unique_phrases: bool = True

    def length(self, paradigm: Paradigm) -> int:
        # Appendix D: "a beam size of 50 and a maximum sequence length of 40".
        return self.max_length or (40 if paradigm == "one2seq" else super().length(paradigm))

    def beams(self, paradigm: Paradigm) -> int:
        return self.width or (200 if paradigm == "one2one" else 50)

    def ranking(self, paradigm: Paradigm) -> Ranking:
        return self.rank


def search(config: Config, model: Generator, batch: Batch, rules: Rules) -> Found:
    width, alpha = config.beams(rules.paradigm), config.length_normalisation
    return search_beams(model, batch, rules, width, alpha, best=False)
