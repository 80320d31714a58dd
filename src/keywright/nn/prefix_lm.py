"""A bidirectional encoder as a language model with a prefix (UniLM, Dong et al. 2019).

Source positions see the whole source. Target positions see the source and the target up to
themselves. To predict a target token, the encoder reads [MASK] in its place.

B documents, R decoded rows, S source positions, T target positions, D width, h heads, d = D / h.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from keywright.errors import ConfigError
from keywright.nn.bert import BertEncoder
from keywright.nn.rows import Sharing
from keywright.nn.transformer import Attention, EncoderLayer, KeyValue


def prefix_mask(source: Tensor, target: Tensor) -> Tensor:
    """What each position sees, [B, S + T, S + T]: True where a row may attend to a column.

    `source` [B, S] and `target` [B, T] are True at real positions; nothing sees padding.
    """
    length = source.shape[1]
    place = torch.arange(length + target.shape[1], device=source.device)
    row, column = place[:, None], place[None, :]
    visible = (column < length) | ((row >= length) & (column <= row))
    return visible & torch.cat([source, target], dim=1)[:, None]


def prediction_mask(source: Tensor, target: Tensor) -> Tensor:
    """Like `prefix_mask`, with a [MASK] for every target position: [B, S + 2T, S + 2T].

    The columns are the source, the target and the masks. The mask of position t sees the source,
    the target before t and itself, as when the target is decoded token by token.
    """
    size, length = source.shape[1], target.shape[1]
    visible = torch.zeros(
        len(source), size + 2 * length, size + 2 * length, dtype=torch.bool, device=source.device
    )
    visible[:, : size + length, : size + length] = prefix_mask(source, target)
    before = torch.ones(length, length, dtype=torch.bool, device=source.device).tril(-1)
    masks = slice(size + length, None)
    visible[:, masks, :size] = source[:, None]
    visible[:, masks, size : size + length] = before & target[:, None]
    visible[:, masks, masks] = torch.eye(length, dtype=torch.bool, device=source.device)
    return visible


@dataclass(frozen=True)
class Context:
    """What T new positions of R rows see: the sources that they share, and each other."""

    mask: Tensor  # [B, S] bool, True at real source positions
    own: Tensor  # [T, P + T] bool, which of the P earlier and the new target positions each sees
    sharing: Sharing


def attend(query: Tensor, source: KeyValue, own: KeyValue, context: Context) -> Tensor:
    """Attention over the source of a document and the target of a row with one softmax.

    query: [R, h, T, d], already scaled; source: [B, h, S, d]; own: [R, h, P + T, d]. Returns
    [R, T, h * d]. The keys and values of the source are not copied for every row.
    """
    heads, size = query.shape[1], source.key.shape[2]
    rows, length = query.shape[0], query.shape[2]
    sharing = context.sharing
    joined = sharing.join(query.transpose(1, 2).flatten(2))  # [B, most * T, h * d]
    joined = joined.view(*joined.shape[:2], heads, -1).transpose(1, 2)
    scores = (joined @ source.key.transpose(2, 3)).masked_fill(
        ~context.mask[:, None, None], -math.inf
    )
    to_source = sharing.part(scores.transpose(1, 2).flatten(2), length)  # [R, T, h * S]
    to_own = (query @ own.key.transpose(2, 3)).masked_fill(~context.own, -math.inf)
    to_source = to_source.view(rows, length, heads, size).transpose(1, 2)
    weights = torch.cat([to_source, to_own], dim=-1).softmax(dim=-1)
    from_own = (weights[..., size:] @ own.value).transpose(1, 2).flatten(2)
    shared = sharing.join(weights[..., :size].transpose(1, 2).flatten(2))
    shared = shared.view(*shared.shape[:2], heads, size).transpose(1, 2)
    from_source = (shared @ source.value).transpose(1, 2).flatten(2)
    return from_own + sharing.part(from_source, length)


class PrefixEncoder(nn.Module):
    """BERT's encoder, reading sources and targets."""

    def __init__(self, bert: BertEncoder):
        super().__init__()
        self.bert = bert
        # Added to every target position; BERT's second token type minus the first.
        self.segment = nn.Parameter(torch.zeros(bert.embedding.embedding_dim))

    @property
    def layers(self) -> list[EncoderLayer]:
        return [cast(EncoderLayer, layer) for layer in self.bert.layers.layers]

    def embed(self, ids: Tensor, positions: Tensor, target: Tensor) -> Tensor:
        """Ids and positions [B, L], and `target` [L], True at target positions: [B, L, D]."""
        limit = self.bert.positions.num_embeddings
        x = self.bert.embedding(ids) + self.bert.positions(positions.clamp(max=limit - 1))
        x = x + target[:, None] * self.segment
        embedded: Tensor = self.bert.dropout(self.bert.norm(x))
        return embedded

    def forward(self, ids: Tensor, positions: Tensor, target: Tensor, mask: Tensor) -> Tensor:
        """The states [B, L, D] of all positions; `mask` [B, L, L] is True where to attend."""
        x = self.embed(ids, positions, target)
        for layer in self.layers:
            x = layer(x, mask[:, None])
        return x

    def read_source(self, source: Tensor, mask: Tensor, limit: int) -> tuple[Tensor, KeyValue]:
        """The states [B, S, D] of sources, and keys and values of all layers [B, layers, ...]."""
        length = source.shape[1]
        if length > limit:
            raise ConfigError(
                f"data.max_source: a source has {length} tokens, but model.positions is {limit}"
            )
        place = torch.arange(length, device=source.device)
        x = self.embed(source, place[None], torch.zeros_like(place, dtype=torch.bool))
        memories = []
        for layer in self.layers:
            memories.append(layer.attention.keys_and_values(x))
            x = layer(x, mask[:, None, None])
        return x, stacked(memories)

    def extend(
        self, x: Tensor, source: KeyValue, past: KeyValue, context: Context
    ) -> tuple[Tensor, KeyValue]:
        """Read embedded target positions [R, T, D] after those of `past`.

        `source` [B, layers, h, S, d] and `past` [R, layers, h, P, d] are keys and values of all
        layers. Returns the states of the new positions and their keys and values.
        """
        memories = []
        for number, layer in enumerate(self.layers):
            memory = layer.attention.keys_and_values(x)
            memories.append(memory)
            attended = _attended(
                layer.attention,
                x,
                KeyValue(source.key[:, number], source.value[:, number]),
                KeyValue(past.key[:, number], past.value[:, number]).append(memory),
                context,
            )
            x = layer.attention_residual.after(x, attended)
            x = layer.feed_forward_residual.after(x, layer.feed_forward(x))
        return x, stacked(memories)


def _attended(
    attention: Attention, x: Tensor, source: KeyValue, own: KeyValue, context: Context
) -> Tensor:
    query = attention.query(x).view(*x.shape[:2], attention.heads, -1).transpose(1, 2)
    mixed = attend(query / math.sqrt(query.shape[-1]), source, own, context)
    output: Tensor = attention.output(mixed)
    return output


def stacked(memories: Iterable[KeyValue]) -> KeyValue:
    """The keys and values of several layers, along a second dimension."""
    keys, values = zip(*memories, strict=True)
    return KeyValue(torch.stack(keys, dim=1), torch.stack(values, dim=1))
