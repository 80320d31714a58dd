"""Writing ONNX graphs node by node, with weights in one file that several graphs share.

With `int8`, matrices are stored and multiplied as integers. Every row of activations has its own
scale, whereas ONNX Runtime's dynamic quantisation has one scale for the whole batch: a document
therefore gets the same phrases alone and in any batch, and an outlier in one row does not affect
others. Weights use 7 bits: with 8, processors without VNNI instructions overflow when they add two
products in 16 bits, so that their results differ from those of other processors.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

OPSET = 21
IR_VERSION = 10
_CONTRIBUTED = {"MatMulIntegerToFloat", "MultiHeadAttention"}  # ONNX Runtime's own operators
_ALIGNMENT = 64
_WEIGHT_RANGE = 63  # 2 * 255 * 63 fits 16 bits
_EMBEDDING_RANGE = 127  # embeddings are not multiplied as integers
_ACTIVATION_ZERO = 128
_SMALLEST = 1e-30  # a row of zeros is divided by this

FLOAT, INT32, INT64 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64
Array = NDArray[Any]


class Weights:
    """The file of weights: one tensor after the other, each name once."""

    def __init__(self, path: Path):
        self.path = path
        self._tensors: dict[str, TensorProto] = {}
        self._pieces: list[bytes] = []
        self._size = 0

    def add(self, name: str, array: Array) -> TensorProto:
        if name not in self._tensors:
            content = np.ascontiguousarray(array).tobytes()
            self._tensors[name] = self._entry(name, array, len(content))
            content += b"\0" * (-len(content) % _ALIGNMENT)
            self._pieces.append(content)
            self._size += len(content)
        return self._tensors[name]

    def _entry(self, name: str, array: Array, length: int) -> TensorProto:
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        tensor = TensorProto(name=name, data_type=kind, dims=array.shape)
        tensor.data_location = TensorProto.EXTERNAL
        place = {"location": self.path.name, "offset": self._size, "length": length}
        for key, value in place.items():
            tensor.external_data.add(key=key, value=str(value))
        return tensor

    def save(self) -> None:
        self.path.write_bytes(b"".join(self._pieces))


class Graph:
    def __init__(self, name: str, weights: Weights, *, int8: bool = False):
        self._name = name
        self._weights = weights
        self._int8 = int8
        self._nodes: list[onnx.NodeProto] = []
        self._tensors: dict[str, TensorProto] = {}
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._quantised: dict[str, tuple[str, str]] = {}

    def input(self, name: str, kind: int, shape: Sequence[str | int]) -> str:
        self._inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name: str, kind: int, shape: Sequence[str | int]) -> None:
        """Declare a result, which a node was given this name for, as an output of the graph."""
        self._outputs.append(helper.make_tensor_value_info(name, kind, shape))

    def op(self, kind: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        """Add a node with one result and return the name of the result."""
        name = name or f"{kind}_{len(self._nodes)}"
        self.node(kind, inputs, [name], **attributes)
        return name

    def node(
        self, kind: str, inputs: Sequence[str], results: Sequence[str], **attributes: Any
    ) -> None:
        """Add a node; "" stands for an input that is omitted or a result that is not used."""
        domain = "com.microsoft" if kind in _CONTRIBUTED else ""
        self._nodes.append(helper.make_node(kind, inputs, results, domain=domain, **attributes))

    def constant(self, value: float | Sequence[int] | np.generic) -> str:
        array = np.float32(value) if isinstance(value, float) else np.asarray(value)
        key = (str(array.dtype), array.shape, array.tobytes())
        if key not in self._constants:
            name = self._constants[key] = f"constant_{len(self._constants)}"
            self._tensors[name] = numpy_helper.from_array(np.asarray(array), name)
        return self._constants[key]

    def weight(self, name: str, value: Tensor | Array) -> str:
        array = value.detach().cpu().numpy() if isinstance(value, Tensor) else value
        self._tensors[name] = self._weights.add(name, array)
        return name

    def reshape(self, x: str, *shape: int, name: str | None = None) -> str:
        return self.op("Reshape", x, self.constant(shape), name=name)

    def norm(self, x: str, name: str, norm: nn.Module) -> str:
        if isinstance(norm, nn.Identity):
            return x
        assert isinstance(norm, nn.LayerNorm)
        scale = self.weight(f"{name}.weight", norm.weight)
        bias = self.weight(f"{name}.bias", norm.bias)
        return self.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=norm.eps)

    def linear(self, x: str, name: str, linear: nn.Linear, rows: slice = slice(None)) -> str:
        """x [N, K] to [N, M], where M are all outputs of `linear` or some `rows` of its matrix."""
        if not self._int8:
            return self.exact_linear(x, name, linear, rows)
        part = _part(name, rows)
        activations, largest = self._int8_activations(x)
        product = self._int8_product(activations, part, linear.weight[rows])
        result = self.op("Mul", product, largest)
        if linear.bias is not None:
            result = self.op("Add", result, self.weight(f"{part}.bias", linear.bias[rows]))
        return result

    def exact_linear(self, x: str, name: str, linear: nn.Linear, rows: slice = slice(None)) -> str:
        """The same in 32-bit numbers even with int8, for matrices too small to benefit."""
        part = _part(name, rows)
        inputs = [x, self.weight(f"{part}.weight", linear.weight[rows])]
        if linear.bias is not None:
            inputs.append(self.weight(f"{part}.bias", linear.bias[rows]))
        return self.op("Gemm", *inputs, transB=1)

    def bounded_linear(self, x: str, name: str, linear: nn.Linear) -> str:
        """The same for x in [-1, 1], the range of tanh: one scale fits all rows.

        The product then needs no scaling of rows, which saves time if M is large.
        """
        if not self._int8:
            return self.exact_linear(x, name, linear)
        zero = self.constant(np.uint8(_ACTIVATION_ZERO))
        activations = self.op("QuantizeLinear", x, self.constant(1 / 127), zero)
        bias = self.weight(f"{name}.bias", linear.bias)
        return self._int8_product(activations, name, linear.weight, bias)

    def embed(self, ids: str, name: str, table: Tensor) -> str:
        """Rows of an embedding: [...] to [..., D]."""
        if not self._int8:
            return self.op("Gather", self.weight(f"{name}.weight", table), ids)
        whole, scale = int8_rows(table, _EMBEDDING_RANGE)
        rows = self.op("Gather", self.weight(f"{name}.int8", whole), ids)
        scales = self.op("Gather", self.weight(f"{name}.scale", scale[:, None]), ids)
        return self.op("Mul", self.op("Cast", rows, to=FLOAT), scales)

    def _int8_product(self, activations: str, name: str, matrix: Tensor, *bias: str) -> str:
        whole, scale = int8_rows(matrix, _WEIGHT_RANGE)
        return self.op(
            "MatMulIntegerToFloat",
            activations,
            self.weight(f"{name}.int8", whole.T),
            self.constant(1 / 127),
            self.weight(f"{name}.scale", scale),
            self.constant(np.uint8(_ACTIVATION_ZERO)),
            self.constant(np.int8(0)),
            *bias,
        )

    def _int8_activations(self, x: str) -> tuple[str, str]:
        """x [N, K] as integers in 1 .. 255, and the largest magnitude [N, 1] of every row."""
        if x not in self._quantised:
            last = self.constant([-1])
            largest = self.op("ReduceMax", self.op("Abs", x), last, keepdims=1)
            largest = self.op("Max", largest, self.constant(_SMALLEST))
            zero = self.constant(np.uint8(_ACTIVATION_ZERO))
            small = self.op("Div", x, largest)
            quantised = self.op("QuantizeLinear", small, self.constant(1 / 127), zero)
            self._quantised[x] = quantised, largest
        return self._quantised[x]

    def save(self, path: Path) -> None:
        graph = helper.make_graph(
            self._nodes, self._name, self._inputs, self._outputs, list(self._tensors.values())
        )
        imports = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=imports, ir_version=IR_VERSION)
        path.write_bytes(model.SerializeToString())


def _part(name: str, rows: slice) -> str:
    return name if rows == slice(None) else f"{name}[{rows.start}:{rows.stop}]"


def int8_rows(matrix: Tensor, most: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """A matrix as integers with magnitudes of at most `most`, and a scale for every row."""
    array = matrix.detach().cpu().numpy()
    scale = np.maximum(np.abs(array).max(axis=1), _SMALLEST) / np.float32(most)
    return np.rint(array / scale[:, None]).astype(np.int8), scale
