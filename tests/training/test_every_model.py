"""Training, checked for every file in `models/`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from keywright import config as configs
from keywright import parts, runs
from keywright.config import Config
from keywright.data.documents import read_documents
from keywright.training.loop import train
from tests.models.conftest import MODELS, TINY, word_tokenizer
from tests.training.conftest import tiny
from tests.training.test_loop import assert_same, metrics, stop_at, untimed, weights


@pytest.fixture(params=parts.names(MODELS))
def config(request: pytest.FixtureRequest, corpus: Path) -> Config:
    """With dropout and KPDrop, so that their randomness is involved."""
    table = tiny(corpus)
    if request.param == "hf_seq2seq":
        pytest.importorskip("transformers")
        table["data"]["vocabulary"] = tokenizer_settings(corpus)
    settings = {**TINY.get(request.param, {}), "dropout": 0.1}
    if "start" in parts.module(MODELS, request.param).Config.__dataclass_fields__:
        settings["start"] = "random"  # pretrained weights have other sizes
    table["model"] = {"name": request.param, **settings}
    table["train"]["stage"][0]["objective"] = {"name": "nll", "label_smoothing": 0.1}
    table["data"]["kpdrop"] = {"mode": "replace", "rate": 0.5}
    return configs.parse(table)


def tokenizer_settings(corpus: Path) -> dict[str, Any]:
    """The settings of a vocabulary that has the words of the corpus."""
    path = corpus / "tokenizer.json"
    word_tokenizer(list(read_documents(corpus / "train.jsonl"))).save(str(path))
    return {"name": "tokenizer", "path": str(path), "end": "<eos>", "start": "<bos>"}


def test_a_stopped_run_ends_with_the_weights_of_an_uninterrupted_one(
    config: Config, tmp_path: Path
) -> None:
    train(config, tmp_path / "whole")
    train(config, tmp_path / "cut", watch=stop_at(2))
    train(config, tmp_path / "cut", resume=True)
    assert_same(weights(tmp_path / "whole"), weights(tmp_path / "cut"))
    assert untimed(tmp_path / "whole") == untimed(tmp_path / "cut")
    first, last = metrics(tmp_path / "whole", "valid")
    assert last["loss"] < first["loss"]
    assert runs.load(tmp_path / "whole").config.model.name == config.model.name
