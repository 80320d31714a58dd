"""From a model to predictions: one file per strategy, over the `Generator` protocol only.

A strategy is a part: its `Config` adds to the `Options` that all of them share, and its `search`
gives every row of the model its hypotheses. What phrases they spell, and in which order a
prediction lists them, is decided in one place, `runtime.phrases`.
"""

from __future__ import annotations

import torch

from keywright import config
from keywright.data.batch import Batch
from keywright.data.targets import Paradigm
from keywright.data.vocab import Lexicon
from keywright.decoding._rules import Rules
from keywright.nn.generator import Generator
from keywright.runtime import phrases
from keywright.types import Prediction


class Decoder:
    """A strategy with its settings, for the models of one paradigm and one vocabulary.

    `Decoder(Part("beam", {"width": 5}), vocabulary, "one2seq")(model, batch)`
    """

    def __init__(self, chosen: config.Part, vocabulary: Lexicon, paradigm: Paradigm):
        self._strategy, self.config = config.part(chosen, __name__, "decode")
        self.settings = config.to_table(config.resolve_part(chosen, __name__, "decode"))
        self._vocabulary = vocabulary
        self._rules = Rules(self.config, paradigm)
        self.beams: int = self.config.beams(paradigm)  # sequences followed for each of its rows

    @torch.inference_mode()
    def __call__(self, model: Generator, batch: Batch) -> list[Prediction]:
        """The predictions of a batch, in its order; `model` must be in evaluation mode."""
        found = self._strategy.search(self.config, model, batch, self._rules)
        rules = self._rules
        return phrases.predictions(batch, found, self._vocabulary, rules.options, rules.ranking)
