"""The guide explains every setting, and its example config is valid."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from pathlib import Path

import pytest

from keywright import config as configs
from keywright import parts, runs

GUIDE = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
REINFORCEMENT = (Path(__file__).parents[2] / "docs" / "reinforcement.md").read_text(
    encoding="utf-8"
)

BLOCKS = re.findall(r"```toml\n(.*?)```", GUIDE, flags=re.DOTALL)


def test_the_config_of_the_guide_is_complete() -> None:
    complete, stages = map(tomllib.loads, BLOCKS)
    config = runs.resolve(configs.parse(complete))
    assert config.model.settings["embedding"] > 0
    staged = runs.resolve(configs.parse({**complete, **stages}))
    assert staged.train.stage[1].objective.settings["samples"] == 1


@pytest.mark.parametrize("name", parts.names("keywright.training.objectives"))
def test_every_objective_and_its_settings_are_explained(name: str) -> None:
    assert f"**`{name}`**" in GUIDE
    for field in dataclasses.fields(parts.module("keywright.training.objectives", name).Config):
        assert f"| `{field.name}` |" in GUIDE + REINFORCEMENT, field.name


@pytest.mark.parametrize("section", [configs.Data, configs.Train, configs.Stage, configs.Evaluate])
def test_every_setting_is_explained(section: type) -> None:
    for field in dataclasses.fields(section):
        if field.name not in ("stage", "kpdrop"):
            assert f"`{field.name}`" in GUIDE, field.name


def test_every_file_of_a_run_folder_is_explained() -> None:
    for name in (runs.CONFIG, runs.VOCABULARY, runs.MANIFEST, runs.BEST, runs.LAST, runs.METRICS):
        assert f"`{name}`" in GUIDE
