"""Attention of one decoding step, for the networks of transformers.

B documents, S source positions, R rows, n rows per document, T cached positions, h heads of size d.
`grid` and `cell` are as in `pointer_transformer`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keywright.export.graph import FLOAT, INT64, Graph


@dataclass(frozen=True)
class Heads:
    """The heads of an attention, and the factor of its queries."""

    count: int  # h
    size: int  # d
    scale: float = 1.0

    @property
    def width(self) -> int:
        return self.count * self.size


@dataclass(frozen=True)
class Inputs:
    """What every layer of a step reads."""

    past_bias: str  # [T], or with a value for each head [1, h, 1, T]
    own_bias: str | None  # [1, h, 1, 1] of the new position
    source_bias: str
    grid: str
    cell: str


def step_inputs(graph: Graph) -> Inputs:
    return Inputs(
        past_bias=graph.input("past_bias", FLOAT, ["T"]),
        own_bias=None,
        source_bias=graph.input("source_bias", FLOAT, ["B", 1, 1, "S"]),
        grid=graph.input("grid", INT64, ["B", "n"]),
        cell=graph.input("cell", INT64, ["R"]),
    )


def whole(
    graph: Graph, heads: Heads, parts: tuple[str, str, str], mask: str, bias: str = ""
) -> str:
    """Attention of all source positions to each other.

    `parts` are queries, keys and values [B * S, h * d]; `mask` [B, S] and `bias` [1, h, S, S] may
    be read. Returns [B * S, h * d].
    """
    shape = graph.op("Concat", graph.op("Shape", mask), graph.constant([heads.width]), axis=0)
    asked = [graph.op("Reshape", part, shape) for part in parts]
    mixed = graph.op(
        "MultiHeadAttention", *asked, "", mask, bias, num_heads=heads.count, scale=heads.scale
    )
    return graph.reshape(mixed, -1, heads.width)


def write_source(graph: Graph, number: int, heads: Heads, key: str, value: str, mask: str) -> None:
    """Outputs of the encoder: keys and values [B * S, h * d] of a layer's cross attention."""
    shape = graph.op(
        "Concat", graph.op("Shape", mask), graph.constant([heads.count, heads.size]), axis=0
    )
    # Keys are stored in the layout that the product with queries needs, to save time in each step.
    for name, part, perm in (("key", key, [0, 2, 3, 1]), ("value", value, [0, 2, 1, 3])):
        part = graph.op("Reshape", part, shape)
        graph.op("Transpose", part, perm=perm, name=f"{name}_{number}")
    graph.output(f"key_{number}", FLOAT, ["B", heads.count, heads.size, "S"])
    graph.output(f"value_{number}", FLOAT, ["B", heads.count, "S", heads.size])


def cached(
    graph: Graph, number: int, heads: Heads, parts: tuple[str, str, str], inputs: Inputs
) -> str:
    """Attention to the cached positions and, separately, to the new one: no cache is copied."""
    h, d = heads.count, heads.size
    past_key = graph.input(f"past_key_{number}", FLOAT, ["R", h, d, "T"])
    past_value = graph.input(f"past_value_{number}", FLOAT, ["R", h, "T", d])
    query = graph.reshape(_scaled(graph, parts[0], heads), -1, h, 1, d)
    key = graph.reshape(parts[1], -1, h, d, 1, name=f"new_key_{number}")
    value = graph.reshape(parts[2], -1, h, 1, d, name=f"new_value_{number}")
    graph.output(key, FLOAT, ["R", h, d, 1])
    graph.output(value, FLOAT, ["R", h, 1, d])
    past = graph.op("Add", graph.op("MatMul", query, past_key), inputs.past_bias)
    own = graph.op("MatMul", query, key)
    if inputs.own_bias is not None:
        own = graph.op("Add", own, inputs.own_bias)
    shares = graph.op("Softmax", graph.op("Concat", past, own, axis=3), axis=-1)
    start, last, end, axis = (graph.constant([i]) for i in (0, -1, np.iinfo(np.int64).max, 3))
    mixed = graph.op(
        "Add",
        graph.op("MatMul", graph.op("Slice", shares, start, last, axis), past_value),
        graph.op("Mul", graph.op("Slice", shares, last, end, axis), value),
    )
    return graph.reshape(mixed, -1, heads.width)


def across(graph: Graph, number: int, heads: Heads, query: str, inputs: Inputs) -> tuple[str, str]:
    """Attention of rows to their sources: the mixed values [R, h * d], and the shares [R, S] of the
    first head."""
    h, d = heads.count, heads.size
    key = graph.input(f"key_{number}", FLOAT, ["B", h, d, "S"])
    value = graph.input(f"value_{number}", FLOAT, ["B", h, "S", d])
    query = graph.op("Gather", _scaled(graph, query, heads), inputs.grid)
    query = graph.op("Transpose", graph.reshape(query, 0, 0, h, d), perm=[0, 2, 1, 3])
    scores = graph.op("Add", graph.op("MatMul", query, key), inputs.source_bias)  # [B, h, n, S]
    shares = graph.op("Softmax", scores, axis=-1)
    mixed = graph.op("Transpose", graph.op("MatMul", shares, value), perm=[0, 2, 1, 3])
    mixed = graph.op("Gather", graph.reshape(mixed, -1, heads.width), inputs.cell)
    first = graph.op("Gather", shares, graph.constant(np.int64(0)), axis=1)  # [B, n, S]
    length = graph.op("Shape", first, start=2, end=3)
    shape = graph.op("Concat", graph.constant([-1]), length, axis=0)
    return mixed, graph.op("Gather", graph.op("Reshape", first, shape), inputs.cell)


def write_result(graph: Graph, logits: str, shares: str) -> None:
    """The outputs of a step: log-probabilities [R, V], and the position [R] attended to most."""
    graph.op("LogSoftmax", logits, axis=-1, name="log_probs")
    graph.output("log_probs", FLOAT, ["R", "V"])
    graph.op("ArgMax", shares, axis=1, keepdims=0, name="attended")
    graph.output("attended", INT64, ["R"])


def _scaled(graph: Graph, query: str, heads: Heads) -> str:
    return query if heads.scale == 1 else graph.op("Mul", query, graph.constant(heads.scale))
