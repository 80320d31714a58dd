"""MiniLM as encoder, and a small decoder whose slots write one phrase each.

Encoder and decoder are those of `pretrained_one2seq`, slots and loss those of
`transformer_one2set`.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from keywright.lexicon import Lexicon
from keywright.models import pretrained_one2seq as pretrained
from keywright.models.transformer_one2set import One2Set, SetLoss


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


build = PretrainedOne2Set
