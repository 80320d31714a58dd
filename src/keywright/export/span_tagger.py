"""The span tagger of a ranker as an ONNX graph that reads one document, without padding.

S is the number of words of the document, W the width of their states. Embeddings, which are almost
the whole file, are stored as int8 with one scale per row.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import IO, cast

import numpy as np
import onnx
import torch

from keywright.errors import KeywrightError
from keywright.export.graph import FLOAT, INT64, Graph, Weights
from keywright.files import atomic_write
from keywright.nn.span_tagger import SpanInputs, SpanTaggerLayer, SpanTaggerNetwork
from keywright.runtime.session import Session

TO_THE_END = np.iinfo(np.int64).max
TOLERANCE = 0.2  # of log-odds: the largest difference that rounding embeddings may cause


def write_span_tagger(path: Path, model: SpanTaggerNetwork, check: SpanInputs) -> None:
    """Write a network as a graph, and compare both on the documents of `check`."""
    with tempfile.TemporaryDirectory() as folder:
        weights = Weights(Path(folder) / "weights")
        graph = Graph("span_tagger", weights, int8=True)
        _write(graph, model)
        weights.save()
        graph.save(Path(folder) / "graph")
        whole = onnx.load(Path(folder) / "graph")  # with its weights
    for tensor in whole.graph.initializer:
        tensor.ClearField("data_location")
        tensor.ClearField("external_data")
    with atomic_write(path, "wb") as file:
        cast(IO[bytes], file).write(whole.SerializeToString())
    _compare(path, model, check)


def _write(graph: Graph, model: SpanTaggerNetwork) -> None:
    longest = model.longest
    stems, *others = [
        graph.embed(graph.input(name, INT64, ["S"]), name, table.weight)
        for name, table in model.tables.items()
    ]
    for other in others:
        stems = graph.op("Add", stems, other)
    x = graph.norm(stems, "norm", model.norm)
    for number, layer in enumerate(model.layers):
        x = _layer(graph, f"layers.{number}", cast(SpanTaggerLayer, layer), x)
    first = graph.exact_linear(x, "first", model.first)
    begin = graph.exact_linear(x, "begin", model.begin)
    end = _longer(graph, graph.exact_linear(x, "end", model.end), 0, longest - 1)
    last = _longer(graph, graph.exact_linear(x, "last", model.last), 0, longest - 1)
    scale, columns = graph.constant(model.begin.out_features**-0.5), []
    for k in range(longest):
        together = graph.op("Mul", begin, _rows(graph, end, k, k - longest + 1))
        together = graph.op("ReduceSum", together, graph.constant([1]), keepdims=1)
        lasts = _rows(graph, last, k, k - longest + 1)
        ends = graph.op("Gather", lasts, graph.constant([k]), axis=1)
        columns.append(graph.op("Add", ends, graph.op("Mul", together, scale)))
    graph.op("Add", first, graph.op("Concat", *columns, axis=1), name="log_odds")
    graph.output("log_odds", FLOAT, ["S", longest])


def _layer(graph: Graph, name: str, layer: SpanTaggerLayer, x: str) -> str:
    far = layer.dilation
    padded = _longer(graph, x, far, far)
    sides = [_rows(graph, padded, at, at - 2 * far) for at in (0, far, 2 * far)]
    near = graph.exact_linear(graph.op("Concat", *sides, axis=1), f"{name}.near", layer.near)
    mean = graph.op("ReduceMean", x, graph.constant([0]), keepdims=1)
    whole = graph.exact_linear(mean, f"{name}.whole", layer.whole)
    new = graph.op("Relu", graph.op("Add", near, whole))
    return graph.norm(graph.op("Add", x, new), f"{name}.norm", layer.norm)


def _longer(graph: Graph, x: str, before: int, after: int) -> str:
    """x [S, W] with rows of zeros around it."""
    return graph.op("Pad", x, graph.constant([before, 0, after, 0]))


def _rows(graph: Graph, x: str, start: int, end: int) -> str:
    """Rows of x from `start` to `end`, which counts from the end; 0 is the end itself."""
    limits = [graph.constant([start]), graph.constant([end or TO_THE_END])]
    return graph.op("Slice", x, *limits, graph.constant([0]))


def _compare(path: Path, model: SpanTaggerNetwork, documents: SpanInputs) -> None:
    session = Session(path, threads=1)
    with torch.no_grad():
        expected = model(documents).numpy()
    for row, size in enumerate(documents.real.sum(1).tolist()):
        inputs = {name: ids[row, :size].numpy() for name, ids in documents.ids.items()}
        # Spans that reach beyond the end of a text do not exist.
        inside = np.arange(size)[:, None] + np.arange(1, model.longest + 1) <= size
        difference = np.abs(next(iter(session.run(inputs).values())) - expected[row, :size])
        if (largest := difference[inside].max(initial=0.0)) > TOLERANCE:
            raise KeywrightError(f"{path}: torch and ONNX Runtime differ by {largest:.2g}")
