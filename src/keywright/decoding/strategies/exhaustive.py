"""Exhaustive decoding: the phrases of every beam, not only of the best (Yuan et al. 2020, 3.3.1).

This is how a One2One model gives many phrases, and other models more than they would by themselves.
Each phrase is listed once, ranked by `rank`:

- `sequence`: the score of the best sequence that contains it, then its position there (as in the
  paper's release);
- `votes`: the total probability of all found sequences that contain it;
- `phrase`: the mean log-probability of its own tokens.

Where a sequence is one phrase (One2One, One2Set), the first two differ only for phrases that occur
in several sequences.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from keywright.config import Count, NonNegative
from keywright.data.batch import Batch
from keywright.data.targets import Paradigm
from keywright.decoding.options import Options, Ranking
from keywright.decoding.phrases import Found
from keywright.decoding.rules import DecodingRules
from keywright.decoding.strategies.beam import search_beams
from keywright.nn.generator import Generator


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


def search(config: Config, model: Generator, batch: Batch, rules: DecodingRules) -> Found:
    width, alpha = config.beams(rules.paradigm), config.length_normalisation
    return search_beams(model, batch, rules, width, alpha, best=False)
