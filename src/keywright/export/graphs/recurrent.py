"""The two graphs of `CatSeq` and `CatSeqD`.

B documents, S source positions, R rows; E, M, A, D are the sizes of embedding, memory, attention
and decoder. `grid` [B, n] is the row in each of the n cells of a document, `cell` [R] the cell (of
B * n) of each row: greedy search has one row per document, samples have several, and documents
whose rows have ended stay for a while, see `runtime.engine`.

With int8, the embedding and the output layer are integers. The other matrices are small, and ONNX's
GRU supports 32-bit numbers only.
"""

from __future__ import annotations

from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from keywright.export.copying import write_log_probs
from keywright.export.graph import FLOAT, INT32, INT64, Graph
from keywright.models.cat_seq import CatSeq
from keywright.models.cat_seq_d import CatSeqD
from keywright.nn.copy import PointerSoftmax
from keywright.runtime.state import HiddenNames

EMBEDDING = "embedding"
HIDDEN, MEANING = "hidden", "meaning"


def state(model: CatSeq) -> HiddenNames:
    """What rows carry from step to step: see `runtime.state`."""
    return HiddenNames((HIDDEN, MEANING) if isinstance(model, CatSeqD) else (HIDDEN,))


def write_encoder(graph: Graph, model: CatSeq) -> None:
    """From ids and mask [B, S] of documents to states, keys and the first state of the decoder."""
    source = graph.input("source", INT64, ["B", "S"])
    mask = graph.input("mask", INT32, ["B", "S"])
    memory, keys = model.bridge.in_features, model.attention.key.out_features
    # ONNX's GRU expects time as the first dimension.
    x = graph.embed(graph.op("Transpose", source, perm=[1, 0]), EMBEDDING, model.embedding.weight)
    lengths = graph.op("ReduceSum", mask, graph.constant([1]), keepdims=0)
    directions = (model.encoder.forwards, model.encoder.backwards)
    states, final = _gru(graph, "encoder", directions, x, lengths=lengths)
    states = graph.op("Transpose", states, perm=[2, 0, 1, 3])  # [B, S, 2, M / 2]
    states = graph.reshape(states, 0, 0, memory, name="states")
    graph.output(states, FLOAT, ["B", "S", memory])
    flat = graph.exact_linear(
        graph.reshape(states, -1, memory), "attention.key", model.attention.key
    )
    shape = graph.op("Concat", graph.op("Shape", source), graph.constant([keys]), axis=0)
    graph.op("Reshape", flat, shape, name="keys")
    graph.output("keys", FLOAT, ["B", "S", keys])
    final = graph.reshape(graph.op("Transpose", final, perm=[1, 0, 2]), -1, memory)
    first = graph.exact_linear(final, "bridge", model.bridge)
    graph.op("Tanh", first, name=f"first_{HIDDEN}")
    graph.output(f"first_{HIDDEN}", FLOAT, ["B", model.bridge.out_features])
    if isinstance(model, CatSeqD):
        _write_no_meaning(graph, model.target_encoder.hidden_size, source)


def _write_no_meaning(graph: Graph, size: int, source: str) -> None:
    """Zeros [B, C], because nothing has been generated yet."""
    documents = graph.op("Shape", source, start=0, end=1)
    shape = graph.op("Concat", documents, graph.constant([size]), axis=0)
    graph.op("Expand", graph.constant(0.0), shape, name=f"first_{MEANING}")
    graph.output(f"first_{MEANING}", FLOAT, ["B", size])


def write_decoder(graph: Graph, model: CatSeq) -> None:
    """One step of all rows: the distribution of their next token, and the next state.

    `tokens` are ids for the embedding; `source_bias` is 0 at real positions and very low at others.
    """
    tokens = graph.input("tokens", INT64, ["R"])
    cell = graph.input("cell", INT64, ["R"])
    x = graph.embed(tokens, EMBEDDING, model.embedding.weight)
    if isinstance(model, CatSeqD):
        meaning = _advance(graph, "target_encoder", model.target_encoder, x, MEANING)
        x = graph.op("Concat", x, meaning, axis=1)
    hidden = _advance(graph, "decoder", model.decoder, x, HIDDEN)
    energies, context = _attend(graph, model, hidden)
    energies, context = (graph.op("Gather", part, cell) for part in (energies, context))
    output = model.output
    assert isinstance(output, PointerSoftmax), "models with another output have no graphs"
    logits, gate = _pointer_softmax(graph, output, hidden, context)
    write_log_probs(graph, logits, gate, energies)


def _advance(graph: Graph, name: str, gru: nn.GRU, x: str, state: str) -> str:
    """The next recurrent state [R, D] after reading x [R, I], which is also an output."""
    first = graph.constant([0])
    past = graph.input(state, FLOAT, ["R", gru.hidden_size])
    past = graph.op("Unsqueeze", past, first)
    _, last = _gru(graph, name, (gru,), graph.op("Unsqueeze", x, first), past=past)
    result = graph.op("Squeeze", last, first, name=f"next_{state}")
    graph.output(result, FLOAT, ["R", gru.hidden_size])
    return result


def _attend(graph: Graph, model: CatSeq, hidden: str) -> tuple[str, str]:
    """Energies [B * n, S] and attended source [B * n, M] of every cell: `nn.attention`."""
    attention, memory = model.attention, model.bridge.in_features
    size = attention.key.out_features
    grid = graph.input("grid", INT64, ["B", "n"])
    bias = graph.input("source_bias", FLOAT, ["B", 1, 1, "S"])
    keys = graph.input("keys", FLOAT, ["B", "S", size])
    states = graph.input("states", FLOAT, ["B", "S", memory])
    query = graph.exact_linear(hidden, "attention.query", attention.query)
    query = graph.op("Unsqueeze", graph.op("Gather", query, grid), graph.constant([2]))
    keys = graph.op("Unsqueeze", keys, graph.constant([1]))
    agreement = graph.op("Tanh", graph.op("Add", keys, query))  # [B, n, S, A]
    # A matrix with one column, because a vector would be multiplied document by document.
    energy = graph.weight("attention.energy", attention.energy.weight.T)
    energies = graph.op("Squeeze", graph.op("MatMul", agreement, energy), graph.constant([3]))
    energies = graph.op("Add", energies, graph.op("Squeeze", bias, graph.constant([1])))
    context = graph.op("MatMul", graph.op("Softmax", energies, axis=-1), states)  # [B, n, M]
    positions = graph.op("Shape", states, start=1, end=2)
    cells = graph.op("Concat", graph.constant([-1]), positions, axis=0)
    return graph.op("Reshape", energies, cells), graph.reshape(context, -1, memory)


def _pointer_softmax(
    graph: Graph, output: PointerSoftmax, hidden: str, context: str
) -> tuple[str, str]:
    """Logits [R, V] of generating, and the logit of the switch [R, 1]."""
    both = graph.op("Concat", hidden, context, axis=1)
    features = graph.op("Tanh", graph.exact_linear(both, "output.hidden", output.hidden))
    switch = graph.op(
        "Add",
        graph.exact_linear(context, "output.switch_context", output.switch_context),
        graph.exact_linear(hidden, "output.switch_state", output.switch_state),
    )
    gate = graph.exact_linear(graph.op("Tanh", switch), "output.switch", output.switch)
    return graph.bounded_linear(features, "output.vocabulary", output.vocabulary), gate


def _gru(
    graph: Graph,
    name: str,
    directions: tuple[nn.GRU, ...],
    x: str,
    *,
    lengths: str = "",
    past: str = "",
) -> tuple[str, str]:
    """States [S, directions, N, H] and last states [directions, N, H] of x [S, N, I].

    With two directions, the second reads each sequence from its own end.
    """
    weights = [
        graph.weight(f"{name}.{part}", np.stack([_gates(gru, *parts) for gru in directions]))
        for part, parts in (
            ("input", ("weight_ih_l0",)),
            ("recurrence", ("weight_hh_l0",)),
            ("bias", ("bias_ih_l0", "bias_hh_l0")),
        )
    ]
    states, last = f"{name}.states", f"{name}.last"
    graph.node(
        "GRU",
        [x, *weights, lengths, past],
        [states, last],
        direction="bidirectional" if len(directions) == 2 else "forward",
        hidden_size=directions[0].hidden_size,
        linear_before_reset=1,  # in torch, the reset gate is applied to the product with bias
    )
    return states, last


def _gates(gru: nn.GRU, *names: str) -> np.ndarray:
    """Parameters, one after the other, with their gates in ONNX's order."""
    pieces = []
    for name in names:
        reset, update, new = cast(Tensor, getattr(gru, name)).detach().chunk(3)
        pieces += [update, reset, new]
    array: np.ndarray = torch.cat(pieces).cpu().numpy()
    return array
