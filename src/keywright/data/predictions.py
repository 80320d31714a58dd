"""Predictions from any format: `for prediction in read_predictions("model.jsonl"): ...`"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from keywright import parts
from keywright.data import recognise
from keywright.files import Bad, fail
from keywright.types import Prediction

READERS = "keywright.data.prediction_readers"


def formats() -> list[str]:
    return parts.names(READERS)


def read_predictions(path: str | Path, *, format: str | None = None) -> Iterator[Prediction]:
    """The predictions of a file, streamed, phrases in their order in the file.

    The format is recognised from the first records unless `format` names it.
    """
    return (prediction for _, prediction in numbered_predictions(path, format=format))


def numbered_predictions(
    path: str | Path, *, format: str | None = None, bad: Bad = fail
) -> Iterator[tuple[int, Prediction]]:
    """The same with line numbers; if `bad` returns, reading continues with the next prediction."""
    reader = recognise.reader(READERS, "prediction", path, format)
    return recognise.at_least_one(reader.read(path, bad), "predictions", path, bad)
