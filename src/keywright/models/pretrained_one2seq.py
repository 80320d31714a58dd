"""MiniLM as encoder, and a small decoder that writes all phrases as one sequence.

The encoder is that of BERT with the weights of MiniLM. The decoder is a shallow Transformer with a
separate copy attention: it produces the wordpieces of keyphrases and copies any wordpiece of the
source. It uses the embedding of the encoder, which is already trained.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

import torch
from safetensors.torch import load_file
from torch import nn

from keywright.config import Count, Fraction
from keywright.data import minilm
from keywright.lexicon import Lexicon
from keywright.models.transformer_one2seq import One2Seq
from keywright.nn.bert import BertEncoder
from keywright.nn.pointer_transformer import PointerTransformer
from keywright.nn.transformer import DecoderLayer, EncoderLayer, Shape


@dataclass(frozen=True)
class Config:
    """The sizes of the encoder are those of MiniLM; others need `start = "random"`."""

    width: Count = 384
    heads: Count = 12
    inner: Count = 1536
    encoder_layers: Count = 6
    decoder_layers: Count = 2
    positions: Count = 512
    encoder_dropout: Fraction = 0.1
    dropout: Fraction = 0.1  # of the decoder
    start: Literal["minilm", "random"] = "minilm"  # of the encoder's weights
    # The layers of the decoder start from the last layers of the encoder or from random weights.
    # Those of the encoder are post-norm, and so are then those of the decoder.
    decoder_start: Literal["encoder", "random"] = "random"

    def __post_init__(self) -> None:
        self.encoder_shape()
        if self.decoder_start == "encoder" and self.decoder_layers > self.encoder_layers:
            raise ValueError(
                f"decoder_start: the decoder has {self.decoder_layers} layers, but the encoder "
                f"that they would start from has only {self.encoder_layers}"
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


class PretrainedOne2Seq(One2Seq):
    def __init__(self, config: Config, vocabulary: Lexicon):
        super().__init__(
            encoder_of(config, vocabulary), config.decoder_shape(), vocabulary, own_pointer=True
        )
        self.config = config

    def initialise(self) -> None:
        initialise(self, self.config)

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        return parameter_groups(self)


build = PretrainedOne2Seq


def encoder_of(config: Config, vocabulary: Lexicon) -> BertEncoder:
    return BertEncoder(config.encoder_shape(), vocabulary.input_size, config.positions)


@torch.no_grad()
def initialise(model: PointerTransformer, config: Config) -> None:
    """Load the weights that `start` and `decoder_start` ask for."""
    encoder = cast(BertEncoder, model.encoder)
    if config.start == "minilm":
        encoder.fill(load_file(minilm.weights()))
        # The embedding of a wordpiece is the best initial guess of its output weights.
        model.output.weight.copy_(encoder.embedding.weight[model.get_buffer("input_ids")])
    if config.decoder_start == "encoder":
        layers = encoder.layers.layers[-config.decoder_layers :]
        for layer, source in zip(model.decoder.layers, layers, strict=True):
            _copy_layer(cast(DecoderLayer, layer), cast(EncoderLayer, source))


def _copy_layer(layer: DecoderLayer, source: EncoderLayer) -> None:
    """Self attention and cross attention both start from the self attention of the encoder."""
    for attention in (layer.self_attention, layer.cross_attention):
        attention.load_state_dict(source.attention.state_dict())
    for residual in (layer.self_residual, layer.cross_residual):
        residual.load_state_dict(source.attention_residual.state_dict())
    layer.feed_forward.load_state_dict(source.feed_forward.state_dict())
    layer.feed_forward_residual.load_state_dict(source.feed_forward_residual.state_dict())


def parameter_groups(model: PointerTransformer) -> dict[str, list[nn.Parameter]]:
    """The encoder, which is pretrained, and everything else."""
    encoder = list(model.encoder.parameters())
    pretrained = {id(parameter) for parameter in encoder}
    rest = [parameter for parameter in model.parameters() if id(parameter) not in pretrained]
    return {"encoder": encoder, "decoder": rest}
