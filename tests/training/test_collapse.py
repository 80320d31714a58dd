"""A policy that collapses is reported, and patience ends its stage with the best weights kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from keywright import checkpoint, runs
from keywright import config as configs
from keywright.training.collapse import collapsed
from keywright.training.loop import train
from keywright.training.objectives.self_critical import SelfCritical
from keywright.training.state import Status
from tests.training.conftest import tiny
from tests.training.test_loop import metrics

WELL = {
    "phrases": 4.0,
    "gold_phrases": 5.0,
    "repetition": 0.1,
    "cut": 0.0,
    "same_phrase": 0.2,
}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, None),
        ({"phrases": 0.3}, "predicts almost nothing: 0.30 phrases per sequence"),
        ({"phrases": 1.0}, "predicts one phrase: 1.00 phrases"),
        ({"phrases": 1.0, "gold_phrases": 1.2}, None),
        ({"repetition": 0.7}, "70% of its phrases are repeats"),
        ({"cut": 0.9}, "90% of its sequences reach max_length"),
        ({"same_phrase": 0.8}, "80% of the sequences"),
    ],
)
def test_what_is_reported(values: dict[str, float], expected: str | None) -> None:
    found = collapsed({**WELL, **values})
    assert found is None if expected is None else expected in (found or "")


def config(corpus: Path, **stage: Any) -> configs.Config:
    table = tiny(corpus)
    table["model"] = {"name": "cat_seq", "embedding": 8, "encoder": 8, "decoder": 8}
    table["data"]["mark_absent"] = True
    table["train"]["log_every"] = 2
    objective = {"name": "self_critical", "reward": "f1", "max_length": 8}
    table["train"]["stage"] = [{"objective": objective, "batch_size": 8, **stage}]
    return configs.parse(table)


def test_an_untrained_policy_that_does_not_end_is_reported_as_it_happens(
    corpus: Path, tmp_path: Path
) -> None:
    seen: list[Status] = []
    train(config(corpus, updates=2), tmp_path / "r", watch=seen.append)
    warnings = [status.warning for status in seen if status.warning]
    assert warnings
    [line] = [line for line in metrics(tmp_path / "r") if line["kind"] == "train"]
    assert line["warning"] == warnings[0]
    assert {"reward", "baseline", "advantage", "entropy", "phrases"} <= line.keys()
    assert seen[-1].report["entropy"] == line["entropy"] > 0


def test_patience_on_the_validation_reward_keeps_the_best_weights(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewards = iter([0.2, 0.5, 0.4, 0.3, 0.9])

    def loss(self: SelfCritical, model: Any, batch: Any) -> Any:
        found = original(self, model, batch)
        return type(found)(found.total * 0 - current[0] * found.divisor, found.divisor)

    original, current = SelfCritical.validation_loss, [0.0]

    def watch(status: Status) -> None:
        if status.validation is None and status.warning is None:
            current[0] = next(rewards)  # of the validation after this update

    monkeypatch.setattr(SelfCritical, "validation_loss", loss)
    stage = config(corpus, updates=5, validate_every=1, patience=2)
    assert train(stage, tmp_path / "r", watch=watch).updates == 4
    best = checkpoint.load_state(dict, tmp_path / "r" / runs.BEST)
    assert (best["update"], best["loss"]) == (2, pytest.approx(-0.5))
