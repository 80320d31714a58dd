"""What holds for training any model: a new file in `models/` is tested here unasked."""

from __future__ import annotations

from pathlib import Path

import pytest

from keywright import config as configs
from keywright import parts
from keywright.config import Config
from keywright.training import run
from keywright.training.loop import train
from tests.models.conftest import MODELS, TINY
from tests.training.conftest import tiny
from tests.training.test_loop import assert_same, metrics, stop_at, untimed, weights


@pytest.fixture(params=parts.names(MODELS))
def config(request: pytest.FixtureRequest, corpus: Path) -> Config:
    """With dropout and KPDrop, so that its randomness takes part."""
    table = tiny(corpus)
    settings = {**TINY.get(request.param, {}), "dropout": 0.1}
    if "start" in parts.module(MODELS, request.param).Config.__dataclass_fields__:
        settings["start"] = "random"  # pretrained weights have sizes of their own
    table["model"] = {"name": request.param, **settings}
    table["train"]["stage"][0]["objective"] = {"name": "nll", "label_smoothing": 0.1}
    table["data"]["kpdrop"] = {"mode": "replace", "rate": 0.5}
    return configs.parse(table)


def test_a_stopped_run_goes_on_as_if_it_had_not_been(config: Config, tmp_path: Path) -> None:
    train(config, tmp_path / "whole")
    train(config, tmp_path / "cut", watch=stop_at(2))
    train(config, tmp_path / "cut", resume=True)
    assert_same(weights(tmp_path / "whole"), weights(tmp_path / "cut"))
    assert untimed(tmp_path / "whole") == untimed(tmp_path / "cut")
    first, last = metrics(tmp_path / "whole", "valid")
    assert last["loss"] < first["loss"]
    assert run.load(tmp_path / "whole").config.model.name == config.model.name
