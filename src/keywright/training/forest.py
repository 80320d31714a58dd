"""Boosted trees: fitted by scikit-learn, written as ONNX, checked on the spot."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keywright.config import Count, NonNegative, Positive, Share
from keywright.errors import KeywrightError
from keywright.files import atomic_write
from keywright.ranking.trees import Trees

ALIKE = 1e-4  # the largest difference of probabilities that rounding may make


@dataclass(frozen=True)
class Forest:
    rounds: Count = 400  # fewer, if the documents kept for it are predicted no better
    leaves: Count = 31
    smallest: Count = 100  # rows of a leaf
    learning_rate: Positive = 0.08
    l2: NonNegative = 1.0
    features: Share = 0.5  # the share of them that a split chooses from, drawn at random


@dataclass(frozen=True)
class Rows:
    """The features of candidates, and which of them are right."""

    features: NDArray[np.float32]  # [C, F]
    right: NDArray[np.bool_]  # [C]


def write_trees(path: Path, learnt: Rows, kept: Rows, config: Forest) -> None:
    """Fit trees on rows until those kept aside, of other documents, are predicted no better."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    fitted = HistGradientBoostingClassifier(
        max_iter=config.rounds,
        max_leaf_nodes=config.leaves,
        min_samples_leaf=config.smallest,
        learning_rate=config.learning_rate,
        l2_regularization=config.l2,
        max_features=config.features,
        early_stopping=True,
        n_iter_no_change=15,
        random_state=0,
    ).fit(learnt.features, learnt.right, X_val=kept.features, y_val=kept.right)
    with atomic_write(path, "wb") as file:
        file.write(_graph(fitted, learnt.features.shape[1]).SerializeToString())
    some = kept.features[:: max(1, len(kept.features) // 5000)]
    difference = np.abs(fitted.predict_proba(some)[:, 1] - Trees(path)(some)).max(initial=0.0)
    if difference > ALIKE:
        raise KeywrightError(
            f"{path}: ONNX Runtime and scikit-learn differ by {difference:.2g}; "
            "this version of scikit-learn keeps its trees in another way"
        )


def _graph(fitted: Any, features: int) -> Any:
    from onnx import TensorProto, helper

    attributes = _attributes(fitted)
    node = helper.make_node(
        "TreeEnsembleRegressor", ["features"], ["score"], domain="ai.onnx.ml", **attributes
    )
    graph = helper.make_graph(
        [node],
        "trees",
        [helper.make_tensor_value_info("features", TensorProto.FLOAT, [None, features])],
        [helper.make_tensor_value_info("score", TensorProto.FLOAT, [None, 1])],
    )
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def _attributes(fitted: Any) -> dict[str, Any]:
    """All trees as ONNX wants them: one entry for each node, one more for each leaf."""
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
            found["nodes_values"].append(0.0 if leaf else _at_most(node["num_threshold"]))
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


def _at_most(threshold: float) -> float:
    """The largest 32-bit number not above a threshold: features have 32 bits."""
    rounded = np.float32(threshold)
    if rounded > threshold:
        rounded = np.nextafter(rounded, np.float32(-np.inf))
    return float(np.clip(rounded, np.finfo(np.float32).min, np.finfo(np.float32).max))
