"""MiniLM reads the document, the slots of a small decoder write one phrase each.

`pretrained_one2seq` has the encoder and decoder, `transformer_one2set` the slots and their loss.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from keywright.data.vocab import Lexicon
from keywright.models import pretrained_one2seq as pretrained
from keywright.models.transformer_one2set import One2Set, SetLoss

PARADIGM = "one2set"


@dataclass(frozen=True)
class Config(SetLoss, pretrained.Config):
    def __post_init__(self) -> None:
        SetLoss.__post_init__(self)
        pretrained.Config.__post_init__(self)


class PretrainedOne2Set(One2Set):
    def __init__(self, config: Config, vocabulary: Lexicon):
        super().__init__(
            pretrained.encoder_of(config, vocabulary),
            config.decoder_shape(),
            vocabulary,
            codes=config.slots,
            own_pointer=True,
        )
        self.settings = self.config = config

    def initialise(self) -> None:
        pretrained.initialise(self, self.config)

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        return pretrained.parameter_groups(self)


def build(config: Config, vocabulary: Lexicon) -> PretrainedOne2Set:
    return PretrainedOne2Set(config, vocabulary)
