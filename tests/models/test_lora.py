"""Low-rank adapters beside the weights of pretrained models."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("transformers")
pytest.importorskip("peft")

import torch

from keywright import checkpoint, runs, runtime
from keywright import config as configs
from keywright.checkpoint import Checkpoint
from keywright.errors import ConfigError, MissingExtraError
from keywright.export.parity import compare
from keywright.export.run import TOLERANCE, export
from keywright.models.hf_seq2seq import Seq2Seq
from keywright.training import optimiser
from tests.export.test_hf_seq2seq import write_run
from tests.models.conftest import DOCUMENTS
from tests.models.test_hf_seq2seq import Made, read, write_model


@pytest.fixture(scope="module", params=["t5", "bart"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    return read(write_model(tmp_path_factory.mktemp("hf") / request.param, request.param))


def adapted(made: Made) -> Seq2Seq:
    torch.manual_seed(1)
    model = Seq2Seq(replace(made.model.config, lora_rank=4, dropout=0.0), made.vocabulary)
    model.initialise()
    return model


def test_adapters_change_nothing_until_they_are_trained(made: Made) -> None:
    batch = made.batch(*DOCUMENTS, targets=True)
    with torch.inference_mode():
        assert torch.allclose(adapted(made).eval().score(batch), made.model.score(batch), atol=1e-5)


def test_only_adapters_are_trained(made: Made) -> None:
    model, batch = adapted(made), made.batch(*DOCUMENTS, targets=True)
    stage = configs.Stage(epochs=1, learning_rate=0.01)
    optimise = optimiser.build(model, stage, "train.stage[0]")
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    losses = []
    for _ in range(5):
        optimise.zero_grad()
        loss = model.loss(batch).total
        loss.backward()
        optimise.step()
        losses.append(loss.item())
    changed = {name for name, now in model.state_dict().items() if not now.equal(before[name])}
    assert changed == {name for name in before if ".lora_" in name}
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("kind", ["t5", "bart"])
def test_an_exported_model_contains_its_adapters(kind: str, tmp_path: Path) -> None:
    run = write_run(tmp_path, kind, lora_rank=4)
    model = runs.load(run).model
    torch.manual_seed(2)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if ".lora_B" in name:
                parameter.normal_()
    saved = Checkpoint(checkpoint.model_tensors(model), checkpoint.load(run / runs.BEST).vocabulary)
    untrained = runs.load(run).model
    checkpoint.save(run / runs.BEST, saved)
    export(run, tmp_path / "exported", documents=DOCUMENTS)
    exported = runtime.load(tmp_path / "exported", threads=1).decode
    assert compare(runs.load(run).model, exported, [DOCUMENTS]).largest < TOLERANCE
    assert compare(untrained, exported, [DOCUMENTS]).largest > 0.1


def test_other_layers_can_be_trained_too(made: Made) -> None:
    model = adapted(made)
    stage = configs.Stage(epochs=1, learning_rates={"decoder": 1e-4})
    optimiser.build(model, stage, "train.stage[0]")
    groups = model.parameter_groups()
    assert all(p.requires_grad for p in [*groups["lora"], *groups["decoder.0"]])
    assert not any(p.requires_grad for p in [*groups["embedding"], *groups["encoder.0"]])


def test_layers_that_do_not_exist_are_refused(made: Made) -> None:
    config = replace(made.model.config, lora_rank=4, lora_modules=("query",))
    with pytest.raises(ConfigError, match=r"model\.lora_modules: .* no layers called query"):
        Seq2Seq(config, made.vocabulary)


def test_without_peft_the_extra_is_named(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(MissingExtraError, match=r"keywright\[lora\]"):
        adapted(made)
