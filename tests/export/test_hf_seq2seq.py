"""Graphs of T5 and BART have the same distributions as torch, step by step."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("transformers")

from keywright import checkpoint, lexicon, predictor, runs, runtime
from keywright import config as configs
from keywright.checkpoint import Checkpoint
from keywright.data.corpus import Digest
from keywright.export.parity import compare
from keywright.export.run import export
from keywright.types import Document
from tests.models.conftest import DOCUMENTS
from tests.models.test_hf_seq2seq import KINDS, write_model
from tests.runtime.models import Pair

MORE = (
    *DOCUMENTS,
    Document(title="", body=""),
    Document(title="Rivers", body=""),
    Document(title="", body="<unk> paper <pad> " + "robot arms carry sand " * 5),
)


def write_run(folder: Path, kind: str, **settings: object) -> Path:
    """The run folder of a pretrained model before its first update."""
    weights = write_model(folder / kind, kind)
    table = {
        "data": {
            "train": ["none"],
            "max_source": 60,
            "vocabulary": {"name": "tokenizer", "path": str(weights), "format": "kpp"},
        },
        "model": {"name": "hf_seq2seq", "weights": str(weights), **settings},
        "train": {"stage": [{"epochs": 1}]},
        "decode": {"name": "greedy", "max_length": 40, "unknown": "keep"},
    }
    config = runs.complete(runs.resolve(configs.parse(table)))
    vocabulary = lexicon.build(config.data.vocabulary, ())
    model = runs.build_model(config, vocabulary)
    model.initialise()
    made = runs.create(folder / "run", config, vocabulary, Digest(0, ""), Digest(0, ""))
    content = Checkpoint(model=checkpoint.model_tensors(model), vocabulary=made.vocabulary)
    checkpoint.save(folder / "run" / runs.BEST, content)
    return folder / "run"


@pytest.fixture(scope="module", params=KINDS)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    folder = tmp_path_factory.mktemp(request.param)
    run = write_run(folder, request.param)
    export(run, folder / "exported", documents=DOCUMENTS)
    return Pair(run, folder / "exported")


def test_distributions_are_those_of_torch(pair: Pair) -> None:
    model, exported = runs.load(pair.run).model, runtime.load(pair.exported, threads=1).decode
    parity = compare(model, exported, [MORE, *([document] for document in MORE)])
    assert parity.largest < 1e-4
    assert parity.same + parity.tied == parity.steps > 100


def test_predictions_are_those_of_the_run(pair: Pair) -> None:
    ours, theirs = (predictor.load(folder) for folder in (pair.exported, pair.run))
    for exported, run in zip(ours.predict(MORE), theirs.predict(MORE), strict=True):
        assert exported.texts == run.texts
        for a, b in zip(exported.phrases, run.phrases, strict=True):
            assert a.token_log_probs == pytest.approx(b.token_log_probs, abs=1e-4)


def test_int8_is_close_and_smaller(pair: Pair, tmp_path: Path) -> None:
    parity = export(pair.run, tmp_path / "int8", int8=True, documents=DOCUMENTS)
    assert parity.mean < 0.5
    sizes = [(f / "weights.bin").stat().st_size for f in (pair.exported, tmp_path / "int8")]
    assert sizes[1] < 0.6 * sizes[0]
