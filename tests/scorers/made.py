"""A tiny BERT in a folder, pairs to learn from, and a config to train it within a second."""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from keywright import config as configs
from keywright.scorers.config import Config
from keywright.scorers.pairs import ScoredPair, write_pairs

PIECES = [
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ";", "|", "0"),
    *string.ascii_lowercase,
    *(f"##{letter}" for letter in string.ascii_lowercase),
]
WIDTH, INNER, LAYERS, POSITIONS = 16, 32, 2, 48

PAIRS = [
    ScoredPair("heat pump", "heat pump", 1.0),
    ScoredPair("heat pump", "pump", 0.5833),
    ScoredPair("old hous", "new hous", 0.5),
    ScoredPair("old hous", "heat", 0.0),
    ScoredPair("insul", "insul", 1.0),
    ScoredPair("insul", "old hous", 0.0),
]


def write_bert(folder: Path, pieces: list[str] = PIECES, prefix: str = "") -> Path:
    """A BERT with random weights, as Hugging Face's library would save it."""
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n")
    description = {
        "model_type": "bert",
        "hidden_act": "gelu",
        "hidden_size": WIDTH,
        "num_attention_heads": 2,
        "intermediate_size": INNER,
        "num_hidden_layers": LAYERS,
        "max_position_embeddings": POSITIONS,
        "layer_norm_eps": 1e-12,
    }
    (folder / "config.json").write_text(json.dumps(description))
    torch.manual_seed(1)
    tensors = {prefix + name: tensor for name, tensor in _tensors(len(pieces)).items()}
    save_file(tensors, folder / "model.safetensors")
    return folder


def _tensors(pieces: int) -> dict[str, torch.Tensor]:
    found = {
        "embeddings.word_embeddings.weight": torch.randn(pieces, WIDTH),
        "embeddings.position_embeddings.weight": torch.randn(POSITIONS, WIDTH) / 10,
        "embeddings.token_type_embeddings.weight": torch.randn(2, WIDTH) / 10,
        **_norm("embeddings.LayerNorm"),
        **_linear("pooler.dense", WIDTH, WIDTH),
    }
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        for name in ("query", "key", "value"):
            found |= _linear(f"{layer}.attention.self.{name}", WIDTH, WIDTH)
        found |= _linear(f"{layer}.attention.output.dense", WIDTH, WIDTH)
        found |= _norm(f"{layer}.attention.output.LayerNorm")
        found |= _linear(f"{layer}.intermediate.dense", WIDTH, INNER)
        found |= _linear(f"{layer}.output.dense", INNER, WIDTH)
        found |= _norm(f"{layer}.output.LayerNorm")
    return found


def _linear(name: str, inputs: int, outputs: int) -> dict[str, torch.Tensor]:
    weight = torch.randn(outputs, inputs) / inputs**0.5
    return {f"{name}.weight": weight, f"{name}.bias": torch.zeros(outputs)}


def _norm(name: str) -> dict[str, torch.Tensor]:
    return {f"{name}.weight": torch.ones(WIDTH), f"{name}.bias": torch.zeros(WIDTH)}


def tiny(folder: Path) -> dict[str, Any]:
    """A config table; writes the BERT and the pairs it names into `folder`."""
    if not (folder / "bert").exists():
        write_bert(folder / "bert")
        write_pairs(PAIRS * 3, folder / "train.jsonl")
        write_pairs(PAIRS, folder / "valid.jsonl")
    return {
        "scorer": {"encoder": str(folder / "bert")},
        "pairs": {
            "train": [str(folder / "train.jsonl")],
            "valid": [str(folder / "valid.jsonl")],
        },
        "train": {
            "epochs": 2,
            "batch_size": 4,
            "learning_rate": 1e-2,
            "threads": 1,
            "log_every": 2,
            "validate_every": 4,
        },
    }


def config(folder: Path, *overrides: str) -> Config:
    table = tiny(folder)
    for override in overrides:
        configs.override(table, override)
    return configs.fill(Config, table)
