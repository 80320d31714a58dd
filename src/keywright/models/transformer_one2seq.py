"""Transformer One2Seq: an encoder-decoder with copying that writes all phrases as one sequence.

The baseline of Ye et al. (2021), One2Set: pre-norm layers, one embedding for source and target; the
copy attention is the first head of the last layer's cross attention, unless `own_pointer` is set.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from keywright.config import Count, Fraction
from keywright.data.batch import Batch
from keywright.lexicon import Lexicon
from keywright.nn.loss import Loss, at_targets, likelihood_loss
from keywright.nn.pointer_transformer import PointerTransformer, WordEncoder
from keywright.nn.transformer import Shape


@dataclass(frozen=True)
class Config:
    width: Count = 512
    heads: Count = 8
    inner: Count = 2048
    encoder_layers: Count = 6
    decoder_layers: Count = 6
    dropout: Fraction = 0.1
    own_pointer: bool = False  # a copy attention of its own, of full width

    def __post_init__(self) -> None:
        self.shape(1)

    def shape(self, layers: int) -> Shape:
        return Shape(self.width, self.heads, self.inner, layers, self.dropout)


class One2Seq(PointerTransformer):
    """The loss and the score of a sequence of all phrases."""

    paradigm = "one2seq"

    def loss(self, batch: Batch, smoothing: float = 0.0) -> Loss:
        target, mask = batch.targets
        return likelihood_loss(self.log_likelihood(target, mask, self.encode(batch), smoothing))

    def score(self, batch: Batch) -> Tensor:
        target, mask = batch.targets
        return at_targets(self.log_likelihood(target, mask, self.encode(batch)), mask)


class TransformerOne2Seq(One2Seq):
    def __init__(self, config: Config, vocabulary: Lexicon):
        super().__init__(
            WordEncoder(config.shape(config.encoder_layers), vocabulary),
            config.shape(config.decoder_layers),
            vocabulary,
            own_pointer=config.own_pointer,
        )


build = TransformerOne2Seq
