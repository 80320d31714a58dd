"""The two graphs of a T5 of transformers: encoding documents, and one decoding step.

T5 has no positions of its own: every attention of a stack adds a bias that depends on the distance
between two positions, and does not scale its queries.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from keywright.export.graph import INT32, INT64, Graph
from keywright.export.graphs import _attention
from keywright.export.graphs._attention import Heads, Inputs
from keywright.models.hf_seq2seq import Seq2Seq
from keywright.runtime.state import CacheShape

EMBEDDING = "embedding"


def state(model: Seq2Seq) -> CacheShape:
    """What rows carry from step to step: see `runtime.state`."""
    config, heads = model.network.config, _heads(model)
    return CacheShape(config.num_decoder_layers, heads.count, heads.width)


def write_encoder(graph: Graph, model: Seq2Seq) -> None:
    """From ids and mask [B, S] of documents to the keys and values of the decoder's layers."""
    network, heads = model.network, _heads(model)
    source = graph.input("source", INT64, ["B", "S"])
    mask = graph.input("mask", INT32, ["B", "S"])
    x = graph.embed(source, EMBEDDING, network.shared.weight)
    x = graph.reshape(x, -1, network.config.d_model)
    bias = _distances(graph, network.encoder, source)
    for number, block in enumerate(network.encoder.block):
        name, layer = f"encoder.{number}", block.layer[0]
        y = _norm(graph, x, f"{name}.attention", layer.layer_norm)
        parts = _projected(graph, y, f"{name}.attention", layer.SelfAttention)
        y = _attention.whole(graph, heads, parts, mask, bias)
        y = graph.linear(y, f"{name}.attention.o", layer.SelfAttention.o)
        x = _feed_forward(graph, graph.op("Add", x, y), name, block.layer[1])
    x = _norm(graph, x, "encoder.final", network.encoder.final_layer_norm)
    for number, block in enumerate(network.decoder.block):
        name, attention = f"decoder.{number}.cross", block.layer[1].EncDecAttention
        key = graph.linear(x, f"{name}.k", attention.k)
        value = graph.linear(x, f"{name}.v", attention.v)
        _attention.write_source(graph, number, heads, key, value, mask)


def write_decoder(graph: Graph, model: Seq2Seq) -> None:
    """One step of all rows: the distribution of their next token, and new keys and values."""
    network, heads = model.network, _heads(model)
    tokens = graph.input("tokens", INT64, ["R"])
    inputs = _with_distances(graph, network.decoder, _attention.step_inputs(graph))
    x, shares = graph.embed(tokens, EMBEDDING, network.shared.weight), ""
    for number, block in enumerate(network.decoder.block):
        name = f"decoder.{number}"
        layer = block.layer[0]
        y = _norm(graph, x, f"{name}.self", layer.layer_norm)
        parts = _projected(graph, y, f"{name}.self", layer.SelfAttention)
        y = _attention.cached(graph, number, heads, parts, inputs)
        x = graph.op("Add", x, graph.linear(y, f"{name}.self.o", layer.SelfAttention.o))
        layer = block.layer[1]
        y = _norm(graph, x, f"{name}.cross", layer.layer_norm)
        query = graph.linear(y, f"{name}.cross.q", layer.EncDecAttention.q)
        y, shares = _attention.across(graph, number, heads, query, inputs)
        x = graph.op("Add", x, graph.linear(y, f"{name}.cross.o", layer.EncDecAttention.o))
        x = _feed_forward(graph, x, name, block.layer[2])
    x = _norm(graph, x, "decoder.final", network.decoder.final_layer_norm)
    if network.config.scale_decoder_outputs:
        x = graph.op("Mul", x, graph.constant(float(network.config.d_model**-0.5)))
    _attention.write_result(graph, graph.linear(x, "output", network.lm_head), shares)


def _heads(model: Seq2Seq) -> Heads:
    return Heads(model.network.config.num_heads, model.network.config.d_kv)


def _projected(graph: Graph, x: str, name: str, attention: Any) -> tuple[str, str, str]:
    return (
        graph.linear(x, f"{name}.q", attention.q),
        graph.linear(x, f"{name}.k", attention.k),
        graph.linear(x, f"{name}.v", attention.v),
    )


def _norm(graph: Graph, x: str, name: str, norm: Any) -> str:
    """Divided by the root of the mean square: no mean is subtracted, no bias is added."""
    mean = graph.op("ReduceMean", graph.op("Mul", x, x), graph.constant([-1]), keepdims=1)
    root = graph.op("Sqrt", graph.op("Add", mean, graph.constant(float(norm.variance_epsilon))))
    return graph.op("Mul", graph.op("Div", x, root), graph.weight(f"{name}.norm", norm.weight))


def _feed_forward(graph: Graph, x: str, name: str, layer: Any) -> str:
    block, name = layer.DenseReluDense, f"{name}.feed_forward"
    y = _norm(graph, x, name, layer.layer_norm)
    if hasattr(block, "wi_0"):
        gate = _activated(graph, graph.linear(y, f"{name}.wi_0", block.wi_0), block.act)
        y = graph.op("Mul", gate, graph.linear(y, f"{name}.wi_1", block.wi_1))
    else:
        y = _activated(graph, graph.linear(y, f"{name}.wi", block.wi), block.act)
    return graph.op("Add", x, graph.linear(y, f"{name}.wo", block.wo))


def _activated(graph: Graph, x: str, function: Any) -> str:
    if isinstance(function, torch.nn.ReLU):
        return graph.op("Relu", x)
    return graph.op("Gelu", x, approximate="tanh")  # the `gelu_new` of gated networks


def _table(stack: Any, offsets: torch.Tensor) -> torch.Tensor:
    """The bias [N, h] of keys that are `offsets` [N] after the query; negative ones are before."""
    attention = stack.block[0].layer[0].SelfAttention
    bucket = attention._relative_position_bucket(
        offsets,
        bidirectional=not stack.is_decoder,
        num_buckets=attention.relative_attention_num_buckets,
        max_distance=attention.relative_attention_max_distance,
    )
    found: torch.Tensor = attention.relative_attention_bias.weight[bucket]
    return found


def _distances(graph: Graph, stack: Any, source: str) -> str:
    """The bias [1, h, S, S] of an encoder. Beyond the largest distance it is constant."""
    most = stack.config.relative_attention_max_distance
    table = graph.weight("encoder.distances", _table(stack, torch.arange(-most, most + 1)))
    length = graph.op("Squeeze", graph.op("Shape", source, start=1, end=2))
    numbers = graph.op("Range", graph.constant(np.int64(0)), length, graph.constant(np.int64(1)))
    after = graph.op("Sub", graph.reshape(numbers, 1, -1), graph.reshape(numbers, -1, 1))
    after = graph.op("Clip", after, graph.constant(np.int64(-most)), graph.constant(np.int64(most)))
    index = graph.op("Add", after, graph.constant(np.int64(most)))
    bias = graph.op("Transpose", graph.op("Gather", table, index), perm=[2, 0, 1])  # [h, S, S]
    return graph.op("Unsqueeze", bias, graph.constant([0]))


def _with_distances(graph: Graph, stack: Any, inputs: Inputs) -> Inputs:
    """The biases of one step: of the T cached positions, and of the new one."""
    most, heads = stack.config.relative_attention_max_distance, stack.config.num_heads
    table = graph.weight("decoder.distances", _table(stack, -torch.arange(most + 1)))
    position = graph.input("position", INT64, [1])
    length = graph.op("Squeeze", graph.op("Shape", inputs.past_bias))
    numbers = graph.op("Range", graph.constant(np.int64(0)), length, graph.constant(np.int64(1)))
    before = graph.op("Sub", position, numbers)
    zero, largest = graph.constant(np.int64(0)), graph.constant(np.int64(most))
    before = graph.op("Clip", before, zero, largest)
    bias = graph.op("Transpose", graph.op("Gather", table, before), perm=[1, 0])  # [h, T]
    bias = graph.op("Add", bias, inputs.past_bias)
    own = graph.reshape(graph.op("Gather", table, zero), 1, heads, 1, 1)
    return replace(inputs, past_bias=graph.reshape(bias, 1, heads, 1, -1), own_bias=own)
