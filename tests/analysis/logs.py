"""Logs of made-up runs, in the form in which the training loop writes them."""

from __future__ import annotations

import json
from pathlib import Path


def line(kind: str, update: int, stage: int = 0, **values: object) -> dict[str, object]:
    """A line of a run with 10 documents and half a minute per update."""
    place = {"stage": stage, "epoch": 0, "documents": 10 * update, "seconds": 30.0 * update}
    return {"kind": kind, "update": update, **place, **values}


LINES = [
    line("train", 1, loss=5.0, nll=5.0, learning_rate=0.1, documents_per_second=3.0),
    line("train", 2, loss=3.0, nll=3.0, learning_rate=0.2, documents_per_second=4.0),
    line("valid", 2, loss=4.0, **{"present.F1@M": 0.25}, best=True),
    line("train", 3, loss=2.0, nll=2.0, learning_rate=0.1, documents_per_second=3.0),
    line("valid", 3, loss=4.5, **{"present.F1@M": 0.2}, best=False),
]
LATER = [
    line("valid", 3, 1, loss=-0.5, best=True),
    line("train", 4, 1, loss=0.1, reward=0.5, learning_rate=0.01, documents_per_second=1.0),
    line("train", 5, 1, loss=-0.1, reward=0.75, learning_rate=0.01, documents_per_second=1.0),
]


def write(folder: Path, lines: list[dict[str, object]], rest: str = "") -> Path:
    folder.mkdir(parents=True)
    text = "".join(json.dumps(values) + "\n" for values in lines)
    (folder / "metrics.jsonl").write_text(text + rest)
    return folder
