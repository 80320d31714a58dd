"""Exporting: what is written and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from keywright import predictor, runs, runtime
from keywright.errors import ConfigError, DataError
from keywright.export.graph import int8_rows
from keywright.export.graphs import pointer_transformer
from keywright.export.run import TOLERANCE, ParityError, export
from keywright.runtime.folder import read_manifest
from tests.models.conftest import DOCUMENTS, TINY
from tests.runs import untrained_run
from tests.runtime.models import BABBLE, MORE, NAMES, make_pair, phrases


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_pair(tmp_path_factory.mktemp("run"), "pretrained_one2seq").run


def test_the_manifest_contains_the_measured_differences(run: Path, tmp_path: Path) -> None:
    parity = export(run, tmp_path / "new")
    manifest = read_manifest(tmp_path / "new")
    assert manifest.parity["largest"] == parity.largest < TOLERANCE
    assert manifest.parity["steps"] == parity.steps > 50
    assert manifest.config["model"]["name"] == "pretrained_one2seq"
    assert (manifest.paradigm, manifest.positions, manifest.int8) == ("one2seq", 64, False)
    assert {"torch", "onnx", "onnxruntime"} <= manifest.versions.keys()


def test_the_embedding_is_stored_once(run: Path, tmp_path: Path) -> None:
    """Both graphs read it, but the file is no larger than the weights of the run."""
    export(run, tmp_path / "new")
    weights = sum(p.numel() * 4 for p in runs.load(run).model.parameters())
    assert (tmp_path / "new" / "weights.bin").stat().st_size < weights + 64 * 100


def test_a_draft_that_was_not_compared_cannot_be_loaded(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The manifest comes last: whatever a killed export leaves behind is not taken for a model."""
    drafts = []

    def look(*_: object) -> None:
        (draft,) = tmp_path.glob(".new.*.part")
        drafts.append(sorted(file.name for file in draft.iterdir()))
        raise KeyboardInterrupt

    monkeypatch.setattr("keywright.export.run.compare", look)
    with pytest.raises(KeyboardInterrupt):
        export(run, tmp_path / "new")
    assert drafts == [["decoder.onnx", "encoder.onnx", "vocabulary.json", "weights.bin"]]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", NAMES)
def test_int8_is_close_and_small(name: str, tmp_path: Path) -> None:
    pair = make_pair(tmp_path, name)
    parity = export(pair.run, tmp_path / "int8", int8=True)
    assert 0 < parity.mean < 0.05
    assert parity.agreement > 0.9
    if not name.startswith("cat_seq"):  # for those see tests/export/test_recurrent.py
        sizes = [(f / "weights.bin").stat().st_size for f in (tmp_path / "int8", pair.exported)]
        assert sizes[0] < 0.5 * sizes[1]
    # Every row has its own scale, so that batching changes nothing.
    alone = phrases(runtime.load(tmp_path / "int8", batch=1).predict(MORE))
    assert phrases(runtime.load(tmp_path / "int8", batch=9).predict(MORE)) == alone


def test_int8_rounds_to_the_nearest() -> None:
    matrix = torch.tensor([[1.0, -0.4, 0.26], [0.0, 0.0, 0.0]])
    whole, scale = int8_rows(matrix, 63)
    assert whole.tolist() == [[63, -25, 16], [0, 0, 0]]
    assert np.allclose(whole * scale[:, None], matrix, atol=0.5 / 63)


def test_the_documents_for_the_comparison_can_be_given(run: Path, tmp_path: Path) -> None:
    assert export(run, tmp_path / "new", documents=DOCUMENTS).documents == 2


def test_a_model_that_differs_from_torch_is_refused(run: Path, tmp_path: Path, monkeypatch) -> None:
    """The gate between generating and copying is slightly wrong."""

    def wrong(graph, model):
        with torch.no_grad():
            model.gate.bias += 0.01
        write(graph, model)
        with torch.no_grad():
            model.gate.bias -= 0.01

    write = pointer_transformer.write_decoder
    monkeypatch.setattr(pointer_transformer, "write_decoder", wrong)
    with pytest.raises(ParityError, match="does not predict what"):
        export(run, tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_existing_files_are_left_alone(run: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(DataError, match="not an empty folder; name another with --output"):
        export(run, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("name", ["exhird", "cat_seq_corr"])
def test_models_without_graphs_are_refused(name: str, tmp_path: Path) -> None:
    """Also a subclass of a model that can be exported, because it computes something else."""
    run = untrained_run(tmp_path / "run", DOCUMENTS, {"name": name, **TINY[name]})
    with pytest.raises(ConfigError, match=f"models of type {name} cannot be exported"):
        export(run, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_options_that_greedy_decoding_shares_with_the_strategy_are_kept(tmp_path: Path) -> None:
    model = {"name": "transformer_one2seq", **TINY["transformer_one2seq"]}
    decode = {"name": "beam", "width": 3, "max_phrases": 2, "max_phrase": 2}
    run = untrained_run(tmp_path / "run", DOCUMENTS, model, decode)
    export(run, tmp_path / "new")
    torch_greedy = predictor.load(
        run, decode="greedy", settings=["max_phrases=2", "max_phrase=2"]
    ).predict(MORE)
    assert phrases(runtime.load(tmp_path / "new").predict(MORE)) == phrases(torch_greedy)


def test_a_transformer_with_a_copy_attention_of_its_own_is_exported(tmp_path: Path) -> None:
    model = {"name": "transformer_one2set", **TINY["transformer_one2set"], "own_pointer": True}
    run = untrained_run(tmp_path / "run", DOCUMENTS, model, {"name": "greedy", **BABBLE})
    export(run, tmp_path / "new")
    same = phrases(predictor.load(run).predict(MORE))
    assert phrases(runtime.load(tmp_path / "new").predict(MORE)) == same
