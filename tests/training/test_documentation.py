"""The guide names every setting, and its config is one."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from pathlib import Path

import pytest

from keywright import config as configs
from keywright.training import run

GUIDE = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")


def test_the_config_of_the_guide_is_complete() -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", GUIDE, flags=re.DOTALL)
    config = configs.parse(tomllib.loads(block))
    assert run.resolve(config).model.settings["embedding"] > 0


@pytest.mark.parametrize("section", [configs.Data, configs.Train, configs.Stage, configs.Evaluate])
def test_every_setting_is_explained(section: type) -> None:
    for field in dataclasses.fields(section):
        if field.name not in ("stage", "kpdrop"):
            assert f"`{field.name}`" in GUIDE, field.name


def test_every_file_of_a_run_folder_is_explained() -> None:
    for name in (run.CONFIG, run.VOCABULARY, run.MANIFEST, run.BEST, run.LAST, run.METRICS):
        assert f"`{name}`" in GUIDE
