"""Transformer blocks: attention over cached keys and values, encoder and decoder stacks.

B documents, R decoded rows, S source positions, T target positions, D width, h heads, d = D / h.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Self, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from keywright.nn.rows import Sharing

Norm = Literal["pre", "post"]
Activation = Literal["relu", "gelu"]


@dataclass(frozen=True)
class Shape:
    """The sizes and options of a stack of layers."""

    width: int
    heads: int
    inner: int  # of the feed-forward blocks
    layers: int
    dropout: float = 0.1  # of the output of every block, and inside the feed-forward blocks
    attention_dropout: float = 0.0  # of attention weights; slow on CPUs, which lack a kernel for it
    norm: Norm = "pre"
    activation: Activation = "relu"
    epsilon: float = 1e-5  # of layer normalisation

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not a multiple of {self.heads} heads")


class KeyValue(NamedTuple):
    key: Tensor  # [B, h, S, d]
    value: Tensor  # [B, h, S, d]

    def append(self, other: KeyValue) -> KeyValue:
        return KeyValue(
            torch.cat([self.key, other.key], dim=2), torch.cat([self.value, other.value], dim=2)
        )

    def select(self, index: Tensor) -> KeyValue:
        return KeyValue(self.key.index_select(0, index), self.value.index_select(0, index))


class Attention(nn.Module):
    """Multi-head attention; keys and values are projected separately and can be cached."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.heads = shape.heads
        self.dropout = shape.attention_dropout
        self.query = nn.Linear(shape.width, shape.width)
        self.key_value = nn.Linear(shape.width, 2 * shape.width)
        self.output = nn.Linear(shape.width, shape.width)
        nn.init.xavier_uniform_(self.query.weight)
        for half in self.key_value.weight.chunk(2):
            nn.init.xavier_uniform_(half)
        nn.init.xavier_uniform_(self.output.weight)
        for linear in (self.query, self.key_value, self.output):
            nn.init.zeros_(linear.bias)

    def keys_and_values(self, source: Tensor) -> KeyValue:
        key, value = self.key_value(source).chunk(2, dim=-1)
        return KeyValue(self._split(key), self._split(value))

    def forward(
        self, x: Tensor, memory: KeyValue, mask: Tensor | None = None, causal: bool = False
    ) -> Tensor:
        """x: [B, T, D]; mask: bool, broadcastable to [B, h, T, S], True where to attend."""
        mixed = F.scaled_dot_product_attention(
            self._split(self.query(x)),
            memory.key,
            memory.value,
            attn_mask=mask,
            dropout_p=self.dropout if self.training else 0.0,
            is_causal=causal,
        )
        output: Tensor = self.output(mixed.transpose(1, 2).flatten(2))
        return output

    def first_head_scores(self, x: Tensor, memory: KeyValue) -> Tensor:
        """The attention scores of the first head, before the softmax: [B, T, S]."""
        d = memory.key.shape[-1]
        query = F.linear(x, self.query.weight[:d], self.query.bias[:d])
        return query @ memory.key[:, 0].transpose(1, 2) / math.sqrt(d)

    def _split(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)


class Residual(nn.Module):
    """A residual connection around a block, normalised before the block or after the sum."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.pre = shape.norm == "pre"
        self.norm = nn.LayerNorm(shape.width, eps=shape.epsilon)
        self.dropout = nn.Dropout(shape.dropout)

    def before(self, x: Tensor) -> Tensor:
        return self.norm(x) if self.pre else x

    def after(self, x: Tensor, block: Tensor) -> Tensor:
        x = x + self.dropout(block)
        return x if self.pre else self.norm(x)


class FeedForward(nn.Sequential):
    def __init__(self, shape: Shape):
        super().__init__(
            nn.Linear(shape.width, shape.inner),
            nn.ReLU() if shape.activation == "relu" else nn.GELU(),
            # BERT, which uses GELU, has no dropout here.
            nn.Dropout(shape.dropout if shape.activation == "relu" else 0.0),
            nn.Linear(shape.inner, shape.width),
        )


class EncoderLayer(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.attention = Attention(shape)
        self.attention_residual = Residual(shape)
        self.feed_forward = FeedForward(shape)
        self.feed_forward_residual = Residual(shape)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        y = self.attention_residual.before(x)
        y = self.attention(y, self.attention.keys_and_values(y), mask)
        x = self.attention_residual.after(x, y)
        y = self.feed_forward(self.feed_forward_residual.before(x))
        return self.feed_forward_residual.after(x, y)


class Encoder(nn.Module):
    """A stack of encoder layers over embeddings."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(shape) for _ in range(shape.layers))
        self.norm = final_norm(shape)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x: [B, S, D]; mask: [B, S] bool, True at real positions."""
        for layer in self.layers:
            x = layer(x, mask[:, None, None, :])
        normal: Tensor = self.norm(x)
        return normal


class DecoderLayer(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.self_attention = Attention(shape)
        self.self_residual = Residual(shape)
        self.cross_attention = Attention(shape)
        self.cross_residual = Residual(shape)
        self.feed_forward = FeedForward(shape)
        self.feed_forward_residual = Residual(shape)

    def forward(
        self, x: Tensor, past: KeyValue | None, source: KeyValue, mask: Tensor, sharing: Sharing
    ) -> tuple[Tensor, KeyValue, Tensor]:
        """x: [R, T, D]; `past` has the positions before it, and is None if T > 1.

        Returns the new x, `past` with x appended, and the input of the cross-attention queries,
        joined (see `Sharing`).
        """
        y = self.self_residual.before(x)
        past = append(past, self.self_attention.keys_and_values(y))
        x = self.self_residual.after(x, self.self_attention(y, past, causal=x.shape[1] > 1))
        queries = sharing.join(self.cross_residual.before(x))
        attended = sharing.part(self.cross_attention(queries, source, mask), x.shape[1])
        x = self.cross_residual.after(x, attended)
        y = self.feed_forward(self.feed_forward_residual.before(x))
        return self.feed_forward_residual.after(x, y), past, queries


@dataclass(frozen=True)
class Cache:
    """The keys and values of all positions decoded so far, for each layer; initially empty."""

    layers: tuple[KeyValue, ...] = ()

    @property
    def length(self) -> int:
        return self.layers[0].key.shape[2] if self.layers else 0

    def select(self, index: Tensor) -> Self:
        return type(self)(tuple(layer.select(index) for layer in self.layers))


class Decoder(nn.Module):
    """A stack of decoder layers over embeddings."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.layers = nn.ModuleList(DecoderLayer(shape) for _ in range(shape.layers))
        self.norm = final_norm(shape)

    def read_source(self, source: Tensor) -> tuple[KeyValue, ...]:
        """The keys and values of encoded documents [B, S, D] for each layer's cross attention."""
        return tuple(attention.keys_and_values(source) for attention in self._cross_attentions())

    def forward(
        self,
        x: Tensor,
        cache: Cache,
        source: Sequence[KeyValue],
        mask: Tensor,
        sharing: Sharing,
    ) -> tuple[Tensor, Cache, Tensor]:
        """x: [R, T, D]; mask: [B, S] bool, True at real source positions.

        Returns states [R, T, D], the cache with x appended, and the scores of the first
        cross-attention head of the last layer [R, T, S], which can be used for copying.
        """
        visible = mask[:, None, None, :]
        layers = []
        queries = x
        for i, layer in enumerate(self.layers):
            past = cache.layers[i] if cache.layers else None
            x, past, queries = layer(x, past, source[i], visible, sharing)
            layers.append(past)
        scores = self._cross_attentions()[-1].first_head_scores(queries, source[-1])
        return self.norm(x), Cache(tuple(layers)), sharing.part(scores, x.shape[1])

    def _cross_attentions(self) -> list[Attention]:
        return [cast(DecoderLayer, layer).cross_attention for layer in self.layers]


def append(past: KeyValue | None, new: KeyValue) -> KeyValue:
    return new if past is None else past.append(new)


def final_norm(shape: Shape) -> nn.Module:
    """Only pre-norm stacks need one: the last layer of a post-norm stack normalises its output."""
    return nn.LayerNorm(shape.width, eps=shape.epsilon) if shape.norm == "pre" else nn.Identity()


class SinusoidalPositions(nn.Module):
    """Vaswani et al. (2017), section 3.5; computed when needed, so no length is too long."""

    def __init__(self, width: int):
        super().__init__()
        self.width = width
        half = torch.arange(0, width, 2) / width
        self.register_buffer("frequencies", torch.exp(-math.log(10_000) * half), persistent=False)

    def forward(self, start: int, end: int) -> Tensor:
        """The positions [start, end): [end - start, D]."""
        frequencies: Tensor = self.get_buffer("frequencies")
        positions = torch.arange(start, end, device=frequencies.device)
        angles = positions[:, None] * frequencies
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, : self.width]
