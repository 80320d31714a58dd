"""From a torch model to predictions: one file per strategy, which sees only a `Generator`.

A strategy is a part: its `Config` adds to the `Options` that all strategies share, and its `search`
returns the hypotheses of every row of the model. Which phrases these contain, and in which order a
prediction lists them, is decided in one place, `decoding.phrases`.
"""

from __future__ import annotations

import torch

from keywright import config
from keywright.data.batch import Batch
from keywright.data.targets import Paradigm
from keywright.decoding import phrases
from keywright.decoding.options import STRATEGIES, STRATEGY
from keywright.decoding.rules import DecodingRules
from keywright.lexicon import Lexicon
from keywright.nn.generator import Generator
from keywright.types import Prediction


class Decoder:
    """A strategy with its settings, for the models of one paradigm and one vocabulary.

    `Decoder(Part("beam", {"width": 5}), vocabulary, "one2seq")(model, batch)`
    """

    def __init__(self, chosen: config.Part, vocabulary: Lexicon, paradigm: Paradigm):
        self._strategy, self.config = config.part(chosen, STRATEGIES, "decode", STRATEGY)
        resolved = config.resolve_part(chosen, STRATEGIES, "decode", STRATEGY)
        self.settings = config.to_table(resolved)
        self._vocabulary = vocabulary
        self.rules = DecodingRules(self.config, paradigm, vocabulary.special)
        self.beams: int = self.config.beams(paradigm)  # hypotheses kept for each row of the model

    @torch.inference_mode()
    def __call__(self, model: Generator, batch: Batch) -> list[Prediction]:
        """The predictions of a batch, in its order; `model` must be in evaluation mode."""
        found = self._strategy.search(self.config, model, batch, self.rules)
        rules = self.rules
        return phrases.predictions(batch, found, self._vocabulary, rules.options, rules.ranking)
