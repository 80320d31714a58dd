"""The examples of a model and of an objective in CONTRIBUTING.md work as printed there."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from keywright import config as configs
from keywright import models, parts, runs
from keywright.data.targets import Targets
from keywright.errors import ConfigError
from keywright.training import objectives
from keywright.training.loop import train
from keywright.training.objective import Context, Position
from tests.models import test_every_model as contract
from tests.models.conftest import DOCUMENTS, MODELS, Case, vocabulary
from tests.training.conftest import tiny
from tests.training.test_loop import metrics

GUIDE = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")


def example(heading: str, path: str) -> str:
    """The code of a section, which must also name the file."""
    section = GUIDE.partition(f"\n### {heading}\n")[2].partition("\n### ")[0]
    assert f"`src/keywright/{path}`" in section
    (code,) = re.findall(r"^```python\n(.*?)^```$", section, flags=re.MULTILINE | re.DOTALL)
    return code


@pytest.fixture(autouse=True)
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Both examples as files in the folders of their packages."""
    for heading, package, path in (
        ("A model", models, "models/mean_seq.py"),
        ("An objective", objectives, "training/objectives/focal.py"),
    ):
        file = tmp_path / "parts" / path
        file.parent.mkdir(parents=True)
        file.write_text(example(heading, path), encoding="utf-8")
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(file.parent)])
    yield
    for name in ("keywright.models.mean_seq", "keywright.training.objectives.focal"):
        sys.modules.pop(name, None)


def test_both_examples_train_together(corpus: Path, tmp_path: Path) -> None:
    table = tiny(corpus)
    table["model"] = {"name": "mean_seq", "width": 16}
    table["train"]["log_every"] = 1
    table["train"]["stage"] = [
        {"updates": 1, "batch_size": 8, "objective": {"name": "focal", "gamma": 1.0}},
        {"updates": 1, "batch_size": 8},
    ]
    assert train(configs.parse(table), tmp_path / "r").updates == 2
    first, second = metrics(tmp_path / "r", "train")
    assert first["unsure"] == 1.0
    assert "unsure" not in second
    assert runs.load(tmp_path / "r").model.paradigm == "one2seq"


def case() -> Case:
    return Case("mean_seq", parts.module(MODELS, "mean_seq"), vocabulary(), Targets("one2seq"))


@pytest.mark.parametrize(
    "test",
    [
        contract.test_every_model_keeps_the_contract,
        contract.test_probabilities_over_the_extended_vocabulary_sum_to_one,
        contract.test_a_word_that_is_not_in_the_vocabulary_can_be_generated,
        contract.test_scores_are_the_log_probabilities_of_steps,
        contract.test_a_document_has_the_same_score_alone_and_in_a_batch,
        contract.test_a_source_with_nothing_to_copy_makes_no_word_certain,
        contract.test_rows_can_be_repeated_and_reordered,
    ],
    ids=lambda test: test.__name__.removeprefix("test_"),
)
def test_the_example_of_a_model_keeps_the_contract(test) -> None:
    test(case())


def test_focal_loss_without_focus_is_likelihood() -> None:
    module = parts.module("keywright.training.objectives", "focal")
    context = Context(vocabulary(), Targets("one2seq"), "chan19", 1, 400, "o")
    model, batch = case().build().eval(), case().batch(*DOCUMENTS)
    with torch.inference_mode():
        likelihood = model.loss(batch).mean.item()
        losses = [
            module.build(module.Config(gamma), context)
            .loss(model, batch, Position(0, 0))
            .mean.item()
            for gamma in (0.0, 2.0)
        ]
    assert losses[0] == pytest.approx(likelihood)
    assert 0 < losses[1] < likelihood
    assert math.isfinite(losses[1])


def test_the_example_of_an_objective_refuses_other_paradigms(corpus: Path, tmp_path: Path) -> None:
    table = tiny(corpus)
    table["model"] = {"name": "copy_rnn"}
    table["train"]["stage"] = [{"updates": 1, "objective": "focal"}]
    with pytest.raises(ConfigError, match=r"train\.stage\[0\]\.objective: focal needs a one2seq"):
        train(configs.parse(table), tmp_path / "r")
