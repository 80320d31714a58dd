"""The two graphs of a `PointerTransformer`: encoding documents, and one decoding step.

B documents, S source positions, R rows, at most n rows per document, T cached positions, D width, h
heads of size d. The rows of a document query its keys together, as in `nn.rows.Sharing`: `grid`
is the row in each of the n cells of a document, `cell` the cell (of B * n) of each row.
"""

from __future__ import annotations

import math
from typing import cast

import numpy as np
from torch import nn

from keywright.export.copying import write_log_probs
from keywright.export.graph import FLOAT, INT32, INT64, Graph
from keywright.nn.bert import BertEncoder
from keywright.nn.pointer_transformer import PointerTransformer, WordEncoder
from keywright.nn.transformer import (
    Attention,
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    Residual,
    SinusoidalPositions,
)
from keywright.runtime.state import CacheShape

EMBEDDING = "embedding"


def state(model: PointerTransformer) -> CacheShape:
    """What rows carry from step to step: see `runtime.state`."""
    layer = cast(DecoderLayer, model.decoder.layers[0])
    return CacheShape(
        layers=len(model.decoder.layers),
        heads=layer.self_attention.heads,
        width=layer.self_attention.query.in_features,
    )


def write_encoder(graph: Graph, model: PointerTransformer) -> None:
    """From ids and mask [B, S] of documents to the keys and values of layers and pointer."""
    source = graph.input("source", INT64, ["B", "S"])
    mask = graph.input("mask", INT32, ["B", "S"])
    encoder = cast(BertEncoder | WordEncoder, model.encoder)
    width = encoder.embedding.embedding_dim
    shape = graph.op("Concat", graph.op("Shape", source), graph.constant([width]), axis=0)
    x = _embedded_source(graph, encoder, source)
    for number, layer in enumerate(encoder.layers.layers):
        name = f"encoder.{number}"
        x = _encoder_layer(graph, name, cast(EncoderLayer, layer), x, mask, shape)
    x = graph.norm(x, "encoder.norm", encoder.layers.norm)
    for number, layer in enumerate(model.decoder.layers):
        _write_source(graph, number, cast(DecoderLayer, layer).cross_attention, x, shape)
    if model.pointer_key is not None:
        keys = graph.linear(x, "pointer.key", model.pointer_key)
        keys = graph.op("Reshape", keys, shape)
        graph.op("Transpose", keys, perm=[0, 2, 1], name="pointer")
        graph.output("pointer", FLOAT, ["B", width, "S"])


def _embedded_source(graph: Graph, encoder: BertEncoder | WordEncoder, source: str) -> str:
    x = graph.embed(source, EMBEDDING, encoder.embedding.weight)
    length = graph.op("Shape", source, start=1, end=2)
    width = encoder.embedding.embedding_dim
    if isinstance(encoder, WordEncoder):
        end = graph.op("Squeeze", length)
        numbers = graph.op("Range", graph.constant(np.int64(0)), end, graph.constant(np.int64(1)))
        x = graph.op("Mul", x, graph.constant(encoder.scale))
        x = graph.op("Add", x, _sinusoids(graph, encoder.positions, numbers))
        return graph.reshape(x, -1, width)
    table = graph.weight("positions", encoder.positions.weight)
    positions = graph.op("Slice", table, graph.constant([0]), length)
    x = graph.reshape(graph.op("Add", x, positions), -1, width)
    return graph.norm(x, "embedding.norm", encoder.norm)


def _encoder_layer(
    graph: Graph, name: str, layer: EncoderLayer, x: str, mask: str, shape: str
) -> str:
    attention = layer.attention
    y = _before(graph, f"{name}.attention", layer.attention_residual, x)
    asked = [
        graph.op("Reshape", part, shape)
        for part in (
            graph.linear(y, f"{name}.query", attention.query),
            *_key_value(graph, f"{name}.key_value", attention, y),
        )
    ]
    mixed = graph.op("MultiHeadAttention", *asked, "", mask, num_heads=attention.heads)
    mixed = graph.reshape(mixed, -1, attention.output.in_features)
    y = graph.linear(mixed, f"{name}.output", attention.output)
    x = _after(graph, f"{name}.attention", layer.attention_residual, x, y)
    return _feed_forward(graph, name, layer.feed_forward, layer.feed_forward_residual, x)


def _write_source(graph: Graph, number: int, attention: Attention, x: str, shape: str) -> None:
    heads, width = attention.heads, attention.query.in_features
    key, value = _key_value(graph, f"decoder.{number}.cross.key_value", attention, x)
    # Keys are stored in the layout that the product with queries needs, to save time in each step.
    for name, part, perm in (("key", key, [0, 2, 3, 1]), ("value", value, [0, 2, 1, 3])):
        part = graph.reshape(graph.op("Reshape", part, shape), 0, 0, heads, width // heads)
        graph.op("Transpose", part, perm=perm, name=f"{name}_{number}")
    graph.output(f"key_{number}", FLOAT, ["B", heads, width // heads, "S"])
    graph.output(f"value_{number}", FLOAT, ["B", heads, "S", width // heads])


def write_decoder(graph: Graph, model: PointerTransformer) -> None:
    """One step of all rows: the distribution of their next token, and new keys and values.

    `tokens` are ids for the embedding. The cache has room for T positions; `past_bias` is 0 at
    those that are used and very low at the others.
    """
    tokens = graph.input("tokens", INT64, ["R"])
    position = graph.input("position", INT64, [1])
    past_bias = graph.input("past_bias", FLOAT, ["T"])
    source_bias = graph.input("source_bias", FLOAT, ["B", 1, 1, "S"])
    grid = graph.input("grid", INT64, ["B", "n"])
    cell = graph.input("cell", INT64, ["R"])
    x = graph.embed(tokens, EMBEDDING, model.encoder.embedding.weight)
    x = graph.op("Mul", x, graph.constant(model.scale))
    x = graph.op("Add", x, _sinusoids(graph, model.positions, position))
    if model.codes is not None:
        codes = graph.weight("codes", model.codes.weight * model.scale)
        x = graph.op("Add", x, graph.op("Gather", codes, graph.input("code", INT64, ["R"])))
    scores = ""
    for number, module in enumerate(model.decoder.layers):
        layer, name = cast(DecoderLayer, module), f"decoder.{number}"
        x = _self_attention(graph, number, layer, x, past_bias)
        x, scores = _cross_attention(graph, number, layer, x, source_bias, grid, cell)
        x = _feed_forward(graph, name, layer.feed_forward, layer.feed_forward_residual, x)
    states = graph.norm(x, "decoder.norm", model.decoder.norm)
    if model.pointer_query is not None:
        scores = _point(graph, model.pointer_query, states, grid)
    copy_bias = graph.input("copy_bias", FLOAT, ["R", "S"])
    energies = graph.op("Add", graph.op("Gather", scores, cell), copy_bias)  # [R, S]
    gate = graph.exact_linear(states, "gate", model.gate)
    write_log_probs(graph, graph.linear(states, "output", model.output), gate, energies)


def _self_attention(graph: Graph, number: int, layer: DecoderLayer, x: str, bias: str) -> str:
    """Attention to the cached positions and, separately, to the new one: no cache is copied."""
    attention, name = layer.self_attention, f"decoder.{number}.self"
    heads, width = attention.heads, attention.query.in_features
    head = width // heads
    past_key = graph.input(f"past_key_{number}", FLOAT, ["R", heads, head, "T"])
    past_value = graph.input(f"past_value_{number}", FLOAT, ["R", heads, "T", head])
    y = _before(graph, name, layer.self_residual, x)
    query = graph.linear(y, f"{name}.query", attention.query)
    query = graph.op("Mul", query, graph.constant(1 / math.sqrt(head)))
    query = graph.reshape(query, -1, heads, 1, head)
    key, value = _key_value(graph, f"{name}.key_value", attention, y)
    key = graph.reshape(key, -1, heads, head, 1, name=f"new_key_{number}")
    value = graph.reshape(value, -1, heads, 1, head, name=f"new_value_{number}")
    graph.output(key, FLOAT, ["R", heads, head, 1])
    graph.output(value, FLOAT, ["R", heads, 1, head])
    past = graph.op("Add", graph.op("MatMul", query, past_key), bias)
    scores = graph.op("Concat", past, graph.op("MatMul", query, key), axis=3)
    shares = graph.op("Softmax", scores, axis=-1)
    start, last, end, axis = (graph.constant([i]) for i in (0, -1, np.iinfo(np.int64).max, 3))
    mixed = graph.op(
        "Add",
        graph.op("MatMul", graph.op("Slice", shares, start, last, axis), past_value),
        graph.op("Mul", graph.op("Slice", shares, last, end, axis), value),
    )
    y = graph.linear(graph.reshape(mixed, -1, width), f"{name}.output", attention.output)
    return _after(graph, name, layer.self_residual, x, y)


def _cross_attention(
    graph: Graph, number: int, layer: DecoderLayer, x: str, bias: str, grid: str, cell: str
) -> tuple[str, str]:
    """The new x, and the scores [B * n, S] of the first head, before the mask."""
    attention, name = layer.cross_attention, f"decoder.{number}.cross"
    heads, width = attention.heads, attention.query.in_features
    head = width // heads
    key = graph.input(f"key_{number}", FLOAT, ["B", heads, head, "S"])
    value = graph.input(f"value_{number}", FLOAT, ["B", heads, "S", head])
    y = _before(graph, name, layer.cross_residual, x)
    query = graph.linear(y, f"{name}.query", attention.query)
    query = graph.op("Mul", query, graph.constant(1 / math.sqrt(head)))
    query = graph.reshape(graph.op("Gather", query, grid), 0, 0, heads, head)
    query = graph.op("Transpose", query, perm=[0, 2, 1, 3])
    scores = graph.op("MatMul", query, key)  # [B, h, n, S]
    shares = graph.op("Softmax", graph.op("Add", scores, bias), axis=-1)
    mixed = graph.op("Transpose", graph.op("MatMul", shares, value), perm=[0, 2, 1, 3])
    mixed = graph.op("Gather", graph.reshape(mixed, -1, width), cell)
    y = graph.linear(mixed, f"{name}.output", attention.output)
    first = graph.op("Gather", scores, graph.constant(np.int64(0)), axis=1)
    return _after(graph, name, layer.cross_residual, x, y), _cells(graph, first)


def _point(graph: Graph, linear: nn.Linear, states: str, grid: str) -> str:
    width = linear.in_features
    query = graph.linear(states, "pointer.query", linear)
    query = graph.op("Mul", query, graph.constant(1 / math.sqrt(width)))
    keys = graph.input("pointer", FLOAT, ["B", width, "S"])
    return _cells(graph, graph.op("MatMul", graph.op("Gather", query, grid), keys))


def _cells(graph: Graph, x: str) -> str:
    """[B, n, S] as [B * n, S]."""
    length = graph.op("Shape", x, start=2, end=3)
    shape = graph.op("Concat", graph.constant([-1]), length, axis=0)
    return graph.op("Reshape", x, shape)


def _key_value(graph: Graph, name: str, attention: Attention, x: str) -> tuple[str, str]:
    width = attention.query.in_features
    key = graph.linear(x, name, attention.key_value, slice(0, width))
    return key, graph.linear(x, name, attention.key_value, slice(width, 2 * width))


def _feed_forward(graph: Graph, name: str, block: FeedForward, residual: Residual, x: str) -> str:
    y = _before(graph, f"{name}.feed_forward", residual, x)
    y = graph.linear(y, f"{name}.feed_forward.in", cast(nn.Linear, block[0]))
    y = graph.op("Gelu" if isinstance(block[1], nn.GELU) else "Relu", y)
    y = graph.linear(y, f"{name}.feed_forward.out", cast(nn.Linear, block[-1]))
    return _after(graph, f"{name}.feed_forward", residual, x, y)


def _before(graph: Graph, name: str, residual: Residual, x: str) -> str:
    return graph.norm(x, f"{name}.norm", residual.norm) if residual.pre else x


def _after(graph: Graph, name: str, residual: Residual, x: str, block: str) -> str:
    x = graph.op("Add", x, block)
    return x if residual.pre else graph.norm(x, f"{name}.norm", residual.norm)


def _sinusoids(graph: Graph, positions: SinusoidalPositions, numbers: str) -> str:
    """The positions of `numbers` [N]: [N, D]."""
    frequencies = graph.weight("frequencies", positions.get_buffer("frequencies"))
    numbers = graph.reshape(graph.op("Cast", numbers, to=FLOAT), -1, 1)
    angles = graph.op("Mul", numbers, frequencies)
    last = graph.constant([-1])
    waves = [graph.op("Unsqueeze", graph.op(kind, angles), last) for kind in ("Sin", "Cos")]
    both = graph.reshape(graph.op("Concat", *waves, axis=-1), 0, -1)
    # With an odd width, the last cosine is dropped.
    return graph.op("Slice", both, *(graph.constant([i]) for i in (0, positions.width, 1)))
