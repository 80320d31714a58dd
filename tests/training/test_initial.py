"""Stages that start from the weights of another run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from keywright import config as configs
from keywright import lexicon, runs
from keywright.config import Config
from keywright.errors import ConfigError
from keywright.training.loop import train
from tests.training.conftest import tiny
from tests.training.test_loop import assert_same, metrics, stop_at, weights

FROZEN = {"updates": 1, "batch_size": 8, "learning_rate": 1e-30}


def config(corpus: Path, *stages: dict[str, Any], **data: Any) -> Config:
    table = tiny(corpus)
    table["data"] |= data
    table["train"]["stage"] = list(stages)
    return configs.parse(table)


@pytest.fixture
def first(tmp_path: Path, corpus: Path) -> Path:
    folder = tmp_path / "first"
    train(config(corpus, {"updates": 4, "batch_size": 8}), folder)
    return folder


def test_a_stage_starts_from_the_best_weights_and_the_vocabulary_of_the_run(
    first: Path, corpus: Path, tmp_path: Path
) -> None:
    few = config(corpus, {**FROZEN, "initial": str(first)}, train_documents=4)
    train(few, tmp_path / "second")
    assert_same(weights(tmp_path / "second", runs.BEST), weights(first, runs.BEST))
    words = [lexicon.load(folder / runs.VOCABULARY) for folder in (first, tmp_path / "second")]
    assert words[0].content() == words[1].content()
    start = metrics(tmp_path / "second")[0]  # what the stage has to beat
    assert (start["kind"], start["update"]) == ("valid", 0)
    best = min(line["loss"] for line in metrics(first) if line["kind"] == "valid")
    assert start["loss"] == pytest.approx(best, rel=1e-6)


def test_a_later_stage_can_start_from_another_run(
    first: Path, corpus: Path, tmp_path: Path
) -> None:
    stages = [{"updates": 2, "batch_size": 8}, {**FROZEN, "initial": str(first)}]
    train(config(corpus, *stages), tmp_path / "second")
    assert_same(weights(tmp_path / "second", runs.BEST), weights(first, runs.BEST))


def test_a_stopped_run_does_not_start_again(first: Path, corpus: Path, tmp_path: Path) -> None:
    stage = {"updates": 4, "batch_size": 8, "initial": str(first)}
    whole = config(corpus, stage)
    train(whole, tmp_path / "whole")
    assert train(whole, tmp_path / "cut", watch=stop_at(2)).reason == "signal"
    train(whole, tmp_path / "cut", resume=True)
    assert_same(weights(tmp_path / "whole"), weights(tmp_path / "cut"))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("model", r"train\.stage\[0\]\.initial: .* has model\.\w+ = .*its weights need the same"),
        ("mark", r"train\.stage\[0\]\.initial: .* has data\.mark_absent = False, .* has True"),
        ("folder", r"train\.stage\[0\]\.initial: .*is not a run folder"),
    ],
)
def test_runs_that_do_not_fit_are_errors_before_training(
    first: Path, corpus: Path, tmp_path: Path, change: str, expected: str
) -> None:
    initial = corpus if change == "folder" else first
    table = configs.to_table(config(corpus, {**FROZEN, "initial": str(initial)}))
    if change == "model":
        table["model"]["dropout"] = 0.25
    if change == "mark":
        table["model"] = {"name": "cat_seq", "embedding": 8, "encoder": 8, "decoder": 8}
        table["data"]["mark_absent"] = True
    with pytest.raises(ConfigError, match=expected):
        train(configs.parse(table), tmp_path / "second")
    assert not (tmp_path / "second").exists()
