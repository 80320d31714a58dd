"""Graphs of recurrent models have the same distributions as torch, step by step."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from keywright import runs, runtime
from keywright.export.graphs import recurrent
from keywright.export.parity import compare
from keywright.export.run import ParityError, export
from keywright.runtime.engine import GrowingRows
from keywright.runtime.sources import make_sources
from keywright.types import Document
from tests.models.conftest import TINY
from tests.runtime.models import Pair, make_pair

NAMES = ("cat_seq", "cat_seq_d")
# Long and short documents, unknown words, blanks, and an empty document.
DOCUMENTS = (
    Document(title="", body=""),
    Document(title="Rivers", body=""),
    Document(
        title="Slow rivers", body="carry glimwock sand <pad> and glimwock salt to the sea " * 4
    ),
    Document(title="", body="zorb zorb paper zorb"),
    Document(title="", body="<unk> paper <pad>"),
)


@pytest.fixture(scope="module", params=NAMES)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return make_pair(tmp_path_factory.mktemp(request.param), request.param)


def test_distributions_are_those_of_torch(pair: Pair) -> None:
    model, exported = runs.load(pair.run).model, runtime.load(pair.exported, threads=1).decode
    parity = compare(model, exported, [DOCUMENTS, *([document] for document in DOCUMENTS)])
    assert parity.largest < 1e-5
    assert parity.same + parity.tied == parity.steps > 100


def test_probabilities_sum_to_one(pair: Pair) -> None:
    exported = runtime.load(pair.exported, threads=1).decode
    sources = make_sources(DOCUMENTS, exported.vocabulary, None)
    rows = GrowingRows(exported.engine, exported.engine.read(sources))
    first, _ = rows.step(rows.start())
    second, _ = rows.step(first.argmax(axis=1))
    rows.keep(np.array([1, 4]))
    third, attended = rows.step(second[[1, 4]].argmax(axis=1))
    for log_probs in (first, second, third):
        assert np.exp(log_probs.astype(np.float64)).sum(axis=1) == pytest.approx(1, abs=1e-5)
    # No row attends to the padding after its document.
    assert (attended < sources.mask.sum(axis=1)[[1, 4]]).all()


def test_gates_in_the_wrong_order_are_detected(pair: Pair, tmp_path: Path, monkeypatch) -> None:
    def in_torch_order(gru: torch.nn.GRU, *names: str) -> np.ndarray:
        return torch.cat([getattr(gru, name).detach() for name in names]).numpy()

    monkeypatch.setattr(recurrent, "_gates", in_torch_order)
    with pytest.raises(ParityError):
        export(pair.run, tmp_path / "new")


def test_int8_is_used_for_the_matrices_that_grow_with_the_vocabulary(
    pair: Pair, tmp_path: Path
) -> None:
    """One byte per number of the embedding and the output layer, and two scales per word."""
    export(pair.run, tmp_path / "int8", int8=True)
    sizes = [(f / "weights.bin").stat().st_size for f in (pair.exported, tmp_path / "int8")]
    words = runs.load(pair.run).vocabulary.size
    saved = words * (3 * (TINY["cat_seq"]["embedding"] + TINY["cat_seq"]["decoder"]) - 2 * 4)
    assert sizes[0] - sizes[1] == pytest.approx(saved, abs=6 * 64)  # tensors are aligned
