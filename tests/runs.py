"""Run folders for tests of everything after training."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from keywright import checkpoint, runs
from keywright import config as configs
from keywright.data import corpus
from keywright.lexicons.words import Vocabulary
from keywright.types import Document

SAMPLE = {"name": "sample", "seed": 7, "max_length": 12}


def untrained_run(
    folder: Path,
    documents: Sequence[Document],
    model: dict[str, Any] | None = None,
    decode: dict[str, Any] | None = None,
) -> Path:
    """A run folder with an untrained model, which samples random phrases."""
    config = runs.resolve(
        configs.parse(
            {
                "data": {"train": ["train.jsonl"], "max_source": 40},
                "model": model
                or {
                    "name": "transformer_one2seq",
                    "width": 16,
                    "heads": 2,
                    "inner": 16,
                    "encoder_layers": 1,
                    "decoder_layers": 1,
                },
                "train": {"stage": [{"epochs": 1}]},
                "decode": decode or SAMPLE,
            }
        )
    )
    vocabulary = Vocabulary.build(documents, 40)
    digest = corpus.Digest(len(documents), "not of a file")
    manifest = runs.create(folder, config, vocabulary, digest, digest)
    torch.manual_seed(1)
    weights = checkpoint.model_tensors(runs.build_model(config, vocabulary))
    checkpoint.save(folder / runs.BEST, checkpoint.Checkpoint(weights, manifest.vocabulary))
    return folder
