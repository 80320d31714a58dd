"""A corpus of made-up words, and a config small enough to train in about a second."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keywright import config as configs
from keywright.config import Config

WORDS = [
    consonant + vowel + end
    for consonant in "bdkl"
    for vowel in "aeio"
    for end in ("nat", "mor", "sen", "tik", "pol")
]


def write_corpus(path: Path, documents: int, seed: int) -> Path:
    rng = random.Random(seed)
    with path.open("w", encoding="utf-8") as file:
        for number in range(documents):
            words = rng.choices(WORDS, k=rng.randint(10, 30))
            keywords = [" ".join(words[2:4]), words[6], "the absent one"]
            record = {
                "id": f"{path.stem}-{number}",
                "title": " ".join(words[:5]),
                "abstract": " ".join(words[5:]) + " .",
                "keywords": keywords,
            }
            file.write(json.dumps(record) + "\n")
    return path


def tiny(folder: Path) -> dict[str, Any]:
    """Four updates per epoch, with dropout, so that all kinds of randomness are involved."""
    return {
        "data": {
            "train": [str(folder / "train.jsonl")],
            "valid": [str(folder / "valid.jsonl")],
            "vocabulary": {"name": "words", "size": 60},
            "max_source": 40,
        },
        "model": {
            "name": "transformer_one2seq",
            "width": 16,
            "heads": 2,
            "inner": 16,
            "encoder_layers": 1,
            "decoder_layers": 1,
            "dropout": 0.1,
        },
        "train": {
            "threads": 1,
            "log_every": 2,
            "stage": [{"epochs": 2, "batch_size": 8}],
        },
    }


Make = Callable[..., Config]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A folder with train.jsonl and valid.jsonl."""
    write_corpus(tmp_path / "train.jsonl", 30, seed=1)
    write_corpus(tmp_path / "valid.jsonl", 10, seed=2)
    return tmp_path


@pytest.fixture
def make(corpus: Path) -> Make:
    """make("train.seed=2", ...) -> Config"""

    def make(*overrides: str) -> Config:
        table = tiny(corpus)
        for override in overrides:
            configs.override(table, override)
        return configs.parse(table)

    return make
