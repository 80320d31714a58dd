"""The configs of reinforcement: every model and reward by overrides."""

from __future__ import annotations

from pathlib import Path

import pytest

from keywright import config as configs
from keywright import runs
from keywright.lexicons.words import Vocabulary
from keywright.training import setup

FOLDER = Path(__file__).parents[2] / "configs" / "reinforce"
MODELS = ("cat_seq", "cat_seq_d", "cat_seq_corr", "cat_seq_tg")
REWARDS = ("f1", "fg", '{name="fb",scorer="runs/fb_scorer"}')


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("reward", REWARDS)
def test_are_complete(path: Path, model: str, reward: str) -> None:
    overrides = [f"model.name={model}", f"train.stage[1].objective.reward={reward}"]
    config = setup.check(configs.load(path, overrides))
    stages = [stage.objective for stage in config.train.stage]
    assert [stage.name for stage in stages[1:]] == ["self_critical"] * (len(stages) - 1)
    assert len(stages) == (3 if "two" in path.stem else 2)
    names = [stage.settings["reward"]["name"] for stage in stages[1:]]
    assert names == [reward[:2] if reward[0] == "f" else "fb", "f1"][: len(stages) - 1]


@pytest.mark.parametrize("model", MODELS)
def test_have_the_networks_of_the_papers(model: str) -> None:
    config = setup.check(configs.load(FOLDER / "one_stage.toml", [f"model.name={model}"]))
    built = runs.build_model(config, Vocabulary(["a", "b"]))
    names = {name for name, _ in built.named_parameters()}
    assert not any(name.startswith("bridge") for name in names)
    assert built.get_parameter("output.switch.weight").shape == (1, 300 + 300 + 100)
