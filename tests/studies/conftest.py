"""A study over made-up documents: two systems that are trained, an extractor, a published row."""

from __future__ import annotations

from pathlib import Path

import pytest

from keywright import config as configs
from tests.training.conftest import tiny, write_corpus

STUDY = """
title = "Two models & an extractor"
metrics = ["present.F1@M", "absent.F1@5"]
resamples = 200

[[systems]]
name = "Short"
config = "{folder}/config.toml"

[[systems]]
name = "Longer"
config = "{folder}/config.toml"
set = ["train.stage[0].epochs=3"]

[[systems]]
name = "First phrases"
model = "firstphrases"

[[systems]]
name = "Paper"
published = {{ test = {{ "present.F1@M" = 36.7 }} }}

[[datasets]]
name = "test"
documents = "{folder}/test.jsonl"

[[datasets]]
name = "part"
documents = "{folder}/test.jsonl"
first = 5

[[tables]]
name = "main"
title = "Main results"
baseline = "Short"

[[tables]]
name = "calibration"
kind = "calibration"
systems = ["Short", "Longer"]
datasets = ["test"]

[[tables]]
name = "tests"
kind = "differences"
datasets = ["test"]

[[tables]]
name = "shared"
kind = "overlap"
datasets = ["test"]
"""


@pytest.fixture
def definition(tmp_path: Path) -> Path:
    write_corpus(tmp_path / "train.jsonl", 30, seed=1)
    write_corpus(tmp_path / "valid.jsonl", 10, seed=2)
    write_corpus(tmp_path / "test.jsonl", 12, seed=3)
    config = configs.parse(tiny(tmp_path))
    (tmp_path / "config.toml").write_text(configs.to_toml(config))
    path = tmp_path / "study.toml"
    path.write_text(STUDY.format(folder=tmp_path))
    return path
