"""Boosted trees of scikit-learn as an ONNX graph."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import onnx
from onnx import TensorProto, helper

from keywright.files import atomic_write


def write_trees(path: Path, fitted: Any, features: int) -> None:
    """Write a fitted `HistGradientBoostingClassifier` of two classes.

    The graph maps features [rows, features] to log-odds [rows, 1]. The trees are read from private
    attributes, since scikit-learn has no public ones: compare the results.
    """
    node = helper.make_node(
        "TreeEnsembleRegressor", ["features"], ["score"], domain="ai.onnx.ml", **_attributes(fitted)
    )
    graph = helper.make_graph(
        [node],
        "trees",
        [helper.make_tensor_value_info("features", TensorProto.FLOAT, [None, features])],
        [helper.make_tensor_value_info("score", TensorProto.FLOAT, [None, 1])],
    )
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 3)]
    model: onnx.ModelProto = helper.make_model(graph, opset_imports=imports, ir_version=10)
    with atomic_write(path, "wb") as file:
        cast(IO[bytes], file).write(model.SerializeToString())


def _attributes(fitted: Any) -> dict[str, Any]:
    """All trees in the layout of ONNX: one entry for each node, one more for each leaf."""
    found: dict[str, list[Any]] = {
        name: []
        for name in (
            "nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_modes", "nodes_values",
            "nodes_truenodeids", "nodes_falsenodeids", "target_treeids", "target_nodeids",
            "target_ids", "target_weights",
        )
    }  # fmt: skip
    for tree, (predictor,) in enumerate(fitted._predictors):
        for number, node in enumerate(predictor.nodes):
            leaf = bool(node["is_leaf"])
            found["nodes_treeids"].append(tree)
            found["nodes_nodeids"].append(number)
            found["nodes_featureids"].append(0 if leaf else int(node["feature_idx"]))
            found["nodes_modes"].append("LEAF" if leaf else "BRANCH_LEQ")
            found["nodes_values"].append(0.0 if leaf else _rounded_down(node["num_threshold"]))
            found["nodes_truenodeids"].append(0 if leaf else int(node["left"]))
            found["nodes_falsenodeids"].append(0 if leaf else int(node["right"]))
            if leaf:
                found["target_treeids"].append(tree)
                found["target_nodeids"].append(number)
                found["target_ids"].append(0)
                found["target_weights"].append(float(node["value"]))
    return {
        **found,
        "base_values": [float(np.asarray(fitted._baseline_prediction).item())],
        "n_targets": 1,
        "post_transform": "NONE",
    }


def _rounded_down(threshold: float) -> float:
    """The largest 32-bit number that is not above a threshold, because features have 32 bits."""
    rounded = np.float32(threshold)
    if rounded > threshold:
        rounded = np.nextafter(rounded, np.float32(-np.inf))
    return float(np.clip(rounded, np.finfo(np.float32).min, np.finfo(np.float32).max))
