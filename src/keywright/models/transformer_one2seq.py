"""Transformer One2Seq: an encoder-decoder with copying that writes all phrases in one sequence.

The baseline of Ye et al. (2021), One2Set: pre-norm layers, one embedding for source and target,
the copy attention being the first head of the last layer's cross attention.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from keywright.config import Count, Fraction
from keywright.data.batch import Batch
from keywright.data.vocab import Lexicon
from keywright.nn.loss import Loss, likelihood_loss
from keywright.nn.pointer_transformer import PointerTransformer, WordEncoder
from keywright.nn.transformer import Shape

PARADIGM = "one2seq"


@dataclass(frozen=True)
class Config:
    width: Count = 512
    heads: Count = 8
    inner: Count = 2048
    encoder_layers: Count = 6
    decoder_layers: Count = 6
    dropout: Fraction = 0.1

    def __post_init__(self) -> None:
        self.shape(1)

    def shape(self, layers: int) -> Shape:
        return Shape(self.width, self.heads, self.inner, layers, self.dropout)


class TransformerOne2Seq(PointerTransformer):
    def loss(self, batch: Batch, smoothing: float = 0.0) -> Loss:
        """The negative log-likelihood of the sequence of all phrases."""
        target, mask = batch.targets
        return likelihood_loss(self.log_likelihood(target, mask, self.encode(batch), smoothing))

    def target_log_probs(self, batch: Batch) -> Tensor:
        """log p of every target token given those before it [B, T]; 0 at pads."""
        target, mask = batch.targets
        log_prob = self.log_likelihood(target, mask, self.encode(batch))
        return log_prob.new_zeros(mask.shape).masked_scatter(mask, log_prob)


def build(config: Config, vocabulary: Lexicon) -> TransformerOne2Seq:
    encoder = WordEncoder(config.shape(config.encoder_layers), vocabulary.input_size)
    return TransformerOne2Seq(encoder, config.shape(config.decoder_layers), vocabulary)
