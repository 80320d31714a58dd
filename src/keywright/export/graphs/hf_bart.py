"""The two graphs of a BART of transformers: encoding documents, and one decoding step."""

from __future__ import annotations

from typing import Any

import torch

from keywright.errors import ConfigError
from keywright.export.graph import INT32, INT64, Graph
from keywright.export.graphs import _attention
from keywright.export.graphs._attention import Heads
from keywright.models.hf_seq2seq import Seq2Seq
from keywright.runtime.state import CacheShape

EMBEDDING = "embedding"


def state(model: Seq2Seq) -> CacheShape:
    """What rows carry from step to step: see `runtime.state`."""
    config = model.network.config
    return CacheShape(config.decoder_layers, config.decoder_attention_heads, config.d_model)


def write_encoder(graph: Graph, model: Seq2Seq) -> None:
    """From ids and mask [B, S] of documents to the keys and values of the decoder's layers."""
    source = graph.input("source", INT64, ["B", "S"])
    mask = graph.input("mask", INT32, ["B", "S"])
    encoder, decoder = model.network.model.encoder, model.network.model.decoder
    positions = encoder.embed_positions
    table = graph.weight("encoder.positions", positions.weight[positions.offset :])
    length = graph.op("Shape", source, start=1, end=2)
    x = _embedded(graph, encoder, source)
    x = graph.op("Add", x, graph.op("Slice", table, graph.constant([0]), length))
    x = graph.reshape(x, -1, model.network.config.d_model)
    x = graph.norm(x, "encoder.embedding.norm", encoder.layernorm_embedding)
    for number, layer in enumerate(encoder.layers):
        name = f"encoder.{number}"
        parts = _projected(graph, x, f"{name}.self", layer.self_attn)
        y = _attention.whole(graph, _heads(layer.self_attn), parts, mask)
        y = graph.linear(y, f"{name}.self.out", layer.self_attn.out_proj)
        x = _added(graph, x, y, f"{name}.self", layer.self_attn_layer_norm)
        x = _feed_forward(graph, x, name, layer)
    for number, layer in enumerate(decoder.layers):
        name, attention = f"decoder.{number}.cross", layer.encoder_attn
        key = graph.linear(x, f"{name}.k", attention.k_proj)
        value = graph.linear(x, f"{name}.v", attention.v_proj)
        _attention.write_source(graph, number, _heads(attention), key, value, mask)


def write_decoder(graph: Graph, model: Seq2Seq) -> None:
    """One step of all rows: the distribution of their next token, and new keys and values."""
    tokens = graph.input("tokens", INT64, ["R"])
    position = graph.input("position", INT64, [1])
    inputs, decoder = _attention.step_inputs(graph), model.network.model.decoder
    positions = decoder.embed_positions
    table = graph.weight("decoder.positions", positions.weight[positions.offset :])
    x = graph.op("Add", _embedded(graph, decoder, tokens), graph.op("Gather", table, position))
    x, shares = graph.norm(x, "decoder.embedding.norm", decoder.layernorm_embedding), ""
    for number, layer in enumerate(decoder.layers):
        name = f"decoder.{number}"
        parts = _projected(graph, x, f"{name}.self", layer.self_attn)
        y = _attention.cached(graph, number, _heads(layer.self_attn), parts, inputs)
        y = graph.linear(y, f"{name}.self.out", layer.self_attn.out_proj)
        x = _added(graph, x, y, f"{name}.self", layer.self_attn_layer_norm)
        query = graph.linear(x, f"{name}.cross.q", layer.encoder_attn.q_proj)
        y, shares = _attention.across(graph, number, _heads(layer.encoder_attn), query, inputs)
        y = graph.linear(y, f"{name}.cross.out", layer.encoder_attn.out_proj)
        x = _added(graph, x, y, f"{name}.cross", layer.encoder_attn_layer_norm)
        x = _feed_forward(graph, x, name, layer)
    logits = graph.linear(x, "output", model.network.lm_head)
    bias = graph.weight("output.bias", model.network.final_logits_bias)
    _attention.write_result(graph, graph.op("Add", logits, bias), shares)


def _heads(attention: Any) -> Heads:
    return Heads(attention.num_heads, attention.head_dim, attention.scaling)


def _embedded(graph: Graph, stack: Any, ids: str) -> str:
    x = graph.embed(ids, EMBEDDING, stack.embed_tokens.weight)
    scale = float(stack.embed_tokens.embed_scale)
    return x if scale == 1 else graph.op("Mul", x, graph.constant(scale))


def _projected(graph: Graph, x: str, name: str, attention: Any) -> tuple[str, str, str]:
    return (
        graph.linear(x, f"{name}.q", attention.q_proj),
        graph.linear(x, f"{name}.k", attention.k_proj),
        graph.linear(x, f"{name}.v", attention.v_proj),
    )


def _added(graph: Graph, x: str, y: str, name: str, norm: torch.nn.Module) -> str:
    return graph.norm(graph.op("Add", x, y), f"{name}.norm", norm)


def _feed_forward(graph: Graph, x: str, name: str, layer: Any) -> str:
    y = graph.linear(x, f"{name}.fc1", layer.fc1)
    y = graph.op(_operator(layer.activation_fn), y)
    y = graph.linear(y, f"{name}.fc2", layer.fc2)
    return _added(graph, x, y, f"{name}.feed_forward", layer.final_layer_norm)


def _operator(function: Any) -> str:
    kinds = {"GELUActivation": "Gelu", "ReLU": "Relu"}
    name = type(function).__name__
    if name not in kinds:
        raise ConfigError(f"a BART with the activation {name} cannot be exported to ONNX")
    return kinds[name]
