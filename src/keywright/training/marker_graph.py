"""A ranker's marker as an ONNX graph that reads one document, without padding.

S is the number of its words, W the width of its states. Embeddings are kept as whole numbers, a
scale for each row: they are nearly all of the file.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import onnx
import torch

from keywright.errors import KeywrightError
from keywright.files import atomic_write
from keywright.nn.graph import FLOAT, INT64, Graph, Weights
from keywright.ranking.reading import LONGEST
from keywright.runtime.session import open_session
from keywright.training.marker import Batch, Layer, Marking

TO_THE_END = np.iinfo(np.int64).max
ALIKE = 0.2  # of log-odds: the largest difference that rounding embeddings may make


def write_marker(path: Path, model: Marking, check: Batch) -> None:
    """Write a network as a graph that says what it says of the documents of `check`."""
    with tempfile.TemporaryDirectory() as folder:
        weights = Weights(Path(folder) / "weights")
        graph = Graph("marker", weights, int8=True)
        _write(graph, model)
        weights.save()
        graph.save(Path(folder) / "graph")
        whole = onnx.load(Path(folder) / "graph")  # with its weights
    for tensor in whole.graph.initializer:
        tensor.ClearField("data_location")
        tensor.ClearField("external_data")
    with atomic_write(path, "wb") as file:
        file.write(whole.SerializeToString())
    _compare(path, model, check)


def _write(graph: Graph, model: Marking) -> None:
    names = ("stems", "endings", "standings", "places")
    stems, *others = [
        graph.embed(graph.input(name, INT64, ["S"]), name, getattr(model, name).weight)
        for name in names
    ]
    for other in others:
        stems = graph.op("Add", stems, other)
    x = graph.norm(stems, "norm", model.norm)
    for number, layer in enumerate(model.layers):
        assert isinstance(layer, Layer)
        x = _layer(graph, f"layers.{number}", layer, x)
    first = graph.exact_linear(x, "first", model.first)
    begin = graph.exact_linear(x, "begin", model.begin)
    end = _longer(graph, graph.exact_linear(x, "end", model.end), 0, LONGEST - 1)
    last = _longer(graph, graph.exact_linear(x, "last", model.last), 0, LONGEST - 1)
    scale, columns = graph.constant(model.begin.out_features**-0.5), []
    for k in range(LONGEST):
        together = graph.op("Mul", begin, _rows(graph, end, k, k - LONGEST + 1))
        together = graph.op("ReduceSum", together, graph.constant([1]), keepdims=1)
        ends = graph.op(
            "Gather", _rows(graph, last, k, k - LONGEST + 1), graph.constant([k]), axis=1
        )
        columns.append(graph.op("Add", ends, graph.op("Mul", together, scale)))
    graph.op("Add", first, graph.op("Concat", *columns, axis=1), name="log_odds")
    graph.output("log_odds", FLOAT, ["S", LONGEST])


def _layer(graph: Graph, name: str, layer: Layer, x: str) -> str:
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


def _compare(path: Path, model: Marking, batch: Batch) -> None:
    session = open_session(path, threads=1)
    with torch.no_grad():
        wanted = model(batch).numpy()
    for row, size in enumerate(batch.real.sum(1).tolist()):
        inputs = {
            name: getattr(batch, name)[row, :size].numpy()
            for name in ("stems", "endings", "standings", "places")
        }
        # Runs that reach beyond the end of a text do not exist.
        inside = np.arange(size)[:, None] + np.arange(1, LONGEST + 1) <= size
        difference = np.abs(session.run(None, inputs)[0] - wanted[row, :size])
        if (largest := difference[inside].max(initial=0.0)) > ALIKE:
            raise KeywrightError(f"{path}: torch and ONNX Runtime differ by {largest:.2g}")
