"""A study over made-up documents: two systems that are trained, an extractor, a published row."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from keywright import config as configs
from keywright.scorers.config import Config as ScorerConfig
from tests.scorers.made import write_bert
from tests.training.conftest import tiny, write_corpus

# Everything that a study can show and train; the test that runs it adds it to STUDY.
MORE = """
[[systems]]
name = "Recurrent"
config = "{folder}/recurrent.toml"
reproduces = {{ own = "Paper" }}
datasets = ["test"]

[[systems]]
name = "Pupil"
config = "{folder}/recurrent.toml"
start = "Recurrent"
labels = ["first words", "its own"]
datasets = ["test"]

[[systems]]
name = "Rewarded"
config = "{folder}/rewarded.toml"
start = "Recurrent"
scorer = "FB"
seeds = [1, 2]
datasets = ["test"]

[[labels]]
name = "first words"
system = "First phrases"
documents = "{folder}/unlabelled.jsonl"
most = 1

[[labels]]
name = "its own"
system = "Recurrent"
documents = "{folder}/train.jsonl"
first = 6
skip = 12

[[scorers]]
name = "FB"
config = "{folder}/scorer.toml"
system = "Recurrent"
train = {{ documents = "{folder}/train.jsonl", first = 12 }}
valid = {{ documents = "{folder}/train.jsonl", first = 6, skip = 12 }}

[[tables]]
name = "gaps"
kind = "reproduction"
datasets = ["test"]

[[tables]]
name = "averages"
kind = "contrasts"
metrics = ["present.F1@M", "present.micro.F1@M"]

[[tables]]
name = "places"
kind = "sections"

[[tables]]
name = "case"
kind = "example"
document = 2
datasets = ["test"]

[[figures]]
name = "reliable"
kind = "reliability"
systems = ["Longer"]
datasets = ["test"]

[[tables]]
name = "letters"
letters = true
datasets = ["test"]

[[figures]]
name = "tokens"
kind = "tokens"
systems = ["Longer"]
datasets = ["test"]

[[figures]]
name = "places"
kind = "sections"
datasets = ["test"]
systems = ["First phrases"]

[[figures]]
name = "bars"
kind = "scores"
metric = "all.Unique"

[[figures]]
name = "series"
kind = "scores"
metric = "present.F1@M"
series = {{ ours = {{ test = "Rewarded", part = "Short" }}, theirs = {{ test = "Paper" }} }}

[[figures]]
name = "phrases"
kind = "distribution"
metric = "present.TokenF1"
per = "phrase"
datasets = ["test"]

[[figures]]
name = "shared"
kind = "overlap"
systems = ["Short", "First phrases"]
datasets = ["test"]

[[figures]]
name = "layout"
kind = "states"
datasets = ["test"]
sample = 20
"""

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

[[figures]]
name = "fig 1"
title = "Perplexity"
kind = "perplexity"
datasets = ["test"]

[[figures]]
name = "fig 2"
kind = "distribution"
metric = "present.FG"
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


@pytest.fixture
def everything(definition: Path) -> Path:
    """The same study with a scorer, rewards, labels, and every kind of table and figure."""
    folder = definition.parent
    texts = map(json.loads, (folder / "valid.jsonl").read_text().splitlines())
    plain = ({key: text[key] for key in text if key != "keyphrases"} for text in texts)
    (folder / "unlabelled.jsonl").write_text("".join(json.dumps(text) + "\n" for text in plain))
    table = tiny(folder)
    table["model"] = {"name": "cat_seq", "embedding": 8, "encoder": 8, "decoder": 8}
    table["data"]["mark_absent"] = True
    table["decode"] = {"name": "sample", "max_length": 12}  # hardly trained, greedy search is empty
    (folder / "recurrent.toml").write_text(configs.to_toml(configs.parse(table)))
    objective = {"name": "self_critical", "reward": "fb"}
    table["train"]["stage"] = [{"objective": objective, "updates": 2, "batch_size": 4}]
    (folder / "rewarded.toml").write_text(configs.to_toml(configs.parse(table)))
    write_bert(folder / "bert")
    scorer = {
        "scorer": {"encoder": str(folder / "bert")},
        "pairs": {"train": ["made by the study"]},
        "train": {"epochs": 1, "batch_size": 8, "threads": 1},
    }
    (folder / "scorer.toml").write_text(configs.to_toml(configs.fill(ScorerConfig, scorer)))
    definition.write_text(definition.read_text() + MORE.format(folder=folder))
    return definition
