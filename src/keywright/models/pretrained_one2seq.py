"""The default architecture: MiniLM reads the document, a small decoder writes all its phrases.

The encoder is BERT's, started from MiniLM's weights. The decoder is a shallow Transformer with a
pointer of its own: it produces the wordpieces of keyphrases and copies any wordpiece of the source.
It reads wordpieces through the encoder's embedding, so it knows from the start what they mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

import torch
from safetensors.torch import load_file
from torch import nn

from keywright.config import Count, Fraction
from keywright.data import minilm
from keywright.data.vocab import Lexicon
from keywright.models.transformer_one2seq import TransformerOne2Seq
from keywright.nn.bert import BertEncoder
from keywright.nn.pointer_transformer import PointerTransformer
from keywright.nn.transformer import DecoderLayer, EncoderLayer, Shape

PARADIGM = "one2seq"


@dataclass(frozen=True)
class Config:
    """The encoder's sizes are MiniLM's; others can only be trained from nothing."""

    width: Count = 384
    heads: Count = 12
    inner: Count = 1536
    encoder_layers: Count = 6
    decoder_layers: Count = 2
    positions: Count = 512
    encoder_dropout: Fraction = 0.1
    dropout: Fraction = 0.1  # of the decoder
    start: Literal["minilm", "random"] = "minilm"  # of the encoder's weights
    # The decoder's layers start from the last ones of the encoder or from nothing. Those of the
    # encoder are post-norm, so the decoder's then are too.
    decoder_start: Literal["encoder", "random"] = "random"

    def __post_init__(self) -> None:
        self.encoder_shape()
        if self.decoder_start == "encoder" and self.decoder_layers > self.encoder_layers:
            raise ValueError(
                f"decoder_start: the encoder has no {self.decoder_layers} layers to start from"
            )

    def encoder_shape(self) -> Shape:
        return Shape(
            self.width,
            self.heads,
            self.inner,
            self.encoder_layers,
            self.encoder_dropout,
            norm="post",
            activation="gelu",
            epsilon=1e-12,
        )

    def decoder_shape(self) -> Shape:
        return Shape(
            self.width,
            self.heads,
            self.inner,
            self.decoder_layers,
            self.dropout,
            norm="post" if self.decoder_start == "encoder" else "pre",
            activation="gelu",
        )


class PretrainedOne2Seq(TransformerOne2Seq):
    def __init__(self, config: Config, vocabulary: Lexicon):
        super().__init__(
            encoder_of(config, vocabulary), config.decoder_shape(), vocabulary, own_pointer=True
        )
        self.config = config

    def initialise(self) -> None:
        initialise(self, self.config)

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        return parameter_groups(self)


def build(config: Config, vocabulary: Lexicon) -> PretrainedOne2Seq:
    return PretrainedOne2Seq(config, vocabulary)


def encoder_of(config: Config, vocabulary: Lexicon) -> BertEncoder:
    return BertEncoder(config.encoder_shape(), vocabulary.input_size, config.positions)


@torch.no_grad()
def initialise(model: PointerTransformer, config: Config) -> None:
    """What a new run does once before it trains; a loaded model has its weights already."""
    encoder = cast(BertEncoder, model.encoder)
    if config.start == "minilm":
        encoder.fill(load_file(minilm.weights()))
        # What a wordpiece means when read is the best first guess at when to produce it.
        model.output.weight.copy_(encoder.embedding.weight[model.get_buffer("input_ids")])
    if config.decoder_start == "encoder":
        layers = encoder.layers.layers[-config.decoder_layers :]
        for to, source in zip(model.decoder.layers, layers, strict=True):
            _take_over(cast(DecoderLayer, to), cast(EncoderLayer, source))


def _take_over(layer: DecoderLayer, source: EncoderLayer) -> None:
    """Both attentions start as the encoder's own."""
    for attention in (layer.self_attention, layer.cross_attention):
        attention.load_state_dict(source.attention.state_dict())
    for residual in (layer.self_residual, layer.cross_residual):
        residual.load_state_dict(source.attention_residual.state_dict())
    layer.feed_forward.load_state_dict(source.feed_forward.state_dict())
    layer.feed_forward_residual.load_state_dict(source.feed_forward_residual.state_dict())


def parameter_groups(model: PointerTransformer) -> dict[str, list[nn.Parameter]]:
    """The encoder, which knows much already, and all that starts from nothing."""
    encoder = list(model.encoder.parameters())
    known = {id(parameter) for parameter in encoder}
    rest = [parameter for parameter in model.parameters() if id(parameter) not in known]
    return {"encoder": encoder, "decoder": rest}
