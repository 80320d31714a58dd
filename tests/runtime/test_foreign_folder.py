"""An exported model made by somebody else is checked before and while it is used: one line."""

from __future__ import annotations

import json
import resource
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")

import onnx
from onnx import TensorProto, helper

from keywright import runtime
from keywright.errors import DataError
from keywright.files import sha256
from keywright.ranking.trees import Trees
from keywright.runtime.folder import DECODER, ENCODER, FILES, MANIFEST, VOCABULARY
from keywright.runtime.session import MAX_BYTES, Session
from tests.models.conftest import DOCUMENTS
from tests.runtime.models import make_pair

Change = Callable[[Path], None]
HUGE = 1 << 34  # single-precision numbers: 64 GB


def write_graph(
    path: Path, nodes: list[Any], inputs: tuple[str, ...], outputs: tuple[str, ...], **shapes: Any
) -> None:
    """A graph; `shapes` are constants."""
    graph = helper.make_graph(
        nodes,
        "made",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in inputs],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [
            helper.make_tensor(name, TensorProto.INT64, [len(values)], values)
            for name, values in shapes.items()
        ],
    )
    versions = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=versions, ir_version=8), path)


def greedy_graph(path: Path) -> None:
    """It asks for 64 GB when it runs, whatever it reads."""
    nodes = [
        helper.make_node("ReduceSum", ["features"], ["sum"], keepdims=0),
        helper.make_node("Expand", ["sum", "size"], ["found"]),
    ]
    write_graph(path, nodes, ("features",), ("found",), size=[HUGE])


def test_a_graph_cannot_take_all_memory(tmp_path: Path) -> None:
    greedy_graph(tmp_path / "greedy.onnx")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DataError, match=r"greedy\.onnx: cannot be run by ONNX Runtime") as error:
        Session(tmp_path / "greedy.onnx", threads=1).run({"features": np.ones((2, 3), np.float32)})
    assert "\n" not in str(error.value)
    used = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    assert used < MAX_BYTES / 10


def test_trees_that_take_all_memory_or_return_something_else_are_errors(tmp_path: Path) -> None:
    features = np.ones((2, 3), np.float32)
    greedy_graph(tmp_path / "trees.onnx")
    with pytest.raises(DataError, match=r"trees\.onnx: cannot be run"):
        Trees(tmp_path / "trees.onnx")(features)
    nodes = [helper.make_node("Neg", ["features"], ["found"])]
    write_graph(tmp_path / "other.onnx", nodes, ("features",), ("found",))
    with pytest.raises(DataError, match=r"other\.onnx: returns \(2, 3\) for 2 candidates"):
        Trees(tmp_path / "other.onnx")(features)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_pair(tmp_path_factory.mktemp("one"), "cat_seq").exported


def manifest(**values: Any) -> Change:
    def change(folder: Path) -> None:
        table = json.loads((folder / MANIFEST).read_text(encoding="utf-8")) | values
        (folder / MANIFEST).write_text(json.dumps(table), encoding="utf-8")

    return change


def replaced(name: str, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> Change:
    def change(folder: Path) -> None:
        nodes = [helper.make_node("Identity", [inputs[0]], [output]) for output in outputs]
        write_graph(folder / name, nodes, inputs, outputs)

    return change


def vocabulary(text: str) -> Change:
    return lambda folder: (folder / VOCABULARY).write_text(text, encoding="utf-8") and None


CACHE = {"type": "cache", "layers": 2, "heads": 2, "width": 16}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (manifest(rows_per_document=0), "rows_per_document"),
        (manifest(rows_per_document=10**9), "rows_per_document"),
        (manifest(max_source=-1), "max_source"),
        (manifest(positions=0), "positions"),
        (manifest(state={**CACHE, "layers": 10**9}), "layers"),
        (manifest(state={**CACHE, "width": -1}), "width"),
        (manifest(state=CACHE), "it reads hidden"),
        (manifest(decode={"max_length": 0}), "max_length"),
        (replaced(ENCODER, ("text",), ("found",)), "it reads text"),
        (replaced(DECODER, ("tokens",), ("log_probs",)), "does not return attended"),
        (vocabulary("{}"), VOCABULARY),
        (vocabulary("[" * 5000), VOCABULARY),
        (lambda folder: (folder / DECODER).write_bytes(b"nothing") and None, DECODER),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_one_line(
    exported: Path, tmp_path: Path, change: Change, named: str
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(exported, folder)
    change(folder)
    manifest(files={name: sha256(folder / name) for name in FILES})(folder)  # the hashes are right
    with pytest.raises(Exception, match=named) as error:
        list(runtime.load(folder).predict(DOCUMENTS))
    assert type(error.value).__module__ == "keywright.errors"
    assert "\n" not in str(error.value)


def test_the_folder_itself_fits(exported: Path) -> None:
    assert len(list(runtime.load(exported).predict(DOCUMENTS))) == len(DOCUMENTS)
