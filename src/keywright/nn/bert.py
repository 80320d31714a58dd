"""The encoder of BERT, and how to load the weights of a BERT checkpoint into it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import torch
from torch import Tensor, nn

from keywright.errors import ConfigError
from keywright.lexicon import PAD
from keywright.nn.pointer_transformer import SourceEncoder
from keywright.nn.transformer import Encoder, EncoderLayer, Shape


class BertEncoder(SourceEncoder):
    """Embeddings of wordpieces and of learnt positions, then post-norm layers.

    Every position has the first token type, so its embedding is added to those of the positions.
    """

    def __init__(self, shape: Shape, vocabulary: int, positions: int):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, shape.width, padding_idx=PAD)
        self.positions = nn.Embedding(positions, shape.width)
        for table in (self.embedding, self.positions):
            nn.init.normal_(table.weight, std=0.05)  # close to that of pretrained embeddings
        self.norm = nn.LayerNorm(shape.width, eps=shape.epsilon)
        self.dropout = nn.Dropout(shape.dropout)
        self.layers = Encoder(shape)

    def forward(self, source: Tensor, mask: Tensor) -> Tensor:
        length, limit = source.shape[1], self.positions.num_embeddings
        if length > limit:
            raise ConfigError(
                f"data.max_source: a source has {length} tokens, but the encoder has only "
                f"{limit} positions"
            )
        x = self.embedding(source) + self.positions.weight[:length]
        encoded: Tensor = self.layers(self.dropout(self.norm(x)), mask)
        return encoded

    @torch.no_grad()
    def fill(self, tensors: Mapping[str, Tensor]) -> None:
        """Copy the weights of a BERT checkpoint, whose names are those of Hugging Face."""
        name = "embeddings.{}.weight".format
        _copy(self.embedding.weight, tensors[name("word_embeddings")])
        kind = tensors[name("token_type_embeddings")][0]
        _copy(self.positions.weight, tensors[name("position_embeddings")] + kind)
        _fill(self.norm, tensors, "embeddings.LayerNorm")
        for number, layer in enumerate(self.layers.layers):
            _fill_layer(cast(EncoderLayer, layer), tensors, f"encoder.layer.{number}")


def _fill_layer(layer: EncoderLayer, tensors: Mapping[str, Tensor], path: str) -> None:
    attention = layer.attention
    _fill(attention.query, tensors, f"{path}.attention.self.query")
    for kind in ("weight", "bias"):
        halves = [tensors[f"{path}.attention.self.{part}.{kind}"] for part in ("key", "value")]
        _copy(getattr(attention.key_value, kind), torch.cat(halves))
    _fill(attention.output, tensors, f"{path}.attention.output.dense")
    _fill(layer.attention_residual.norm, tensors, f"{path}.attention.output.LayerNorm")
    _fill(layer.feed_forward[0], tensors, f"{path}.intermediate.dense")
    _fill(layer.feed_forward[-1], tensors, f"{path}.output.dense")
    _fill(layer.feed_forward_residual.norm, tensors, f"{path}.output.LayerNorm")


def _fill(module: nn.Module, tensors: Mapping[str, Tensor], path: str) -> None:
    for name, parameter in module.named_parameters():
        _copy(parameter, tensors[f"{path}.{name}"])


def _copy(parameter: Tensor, value: Tensor) -> None:
    if parameter.shape != value.shape:
        raise ConfigError(
            f"model: its sizes are not those of the pretrained encoder "
            f"({list(parameter.shape)} in the model, {list(value.shape)} in the checkpoint)"
        )
    parameter.copy_(value)
