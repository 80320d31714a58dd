"""Small exported models and the runs they come from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from keywright.export.run import export
from keywright.types import Document
from tests.models.conftest import DOCUMENTS, TINY
from tests.runs import untrained_run

NAMES = (
    "cat_seq",
    "cat_seq_d",
    "pretrained_one2seq",
    "pretrained_one2set",
    "transformer_one2seq",
    "transformer_one2set",
)
# An untrained model rarely ends a phrase by itself.
BABBLE = {"max_phrase": 3, "max_phrases": 5, "unique_starts": True, "max_length": 24}
MORE = tuple(
    Document(
        id=str(i),
        title="Rivers and paper" if i % 3 else "",
        body=" ".join(word for document in DOCUMENTS for word in document.body.split()[i : 5 * i])
        + " delta" * (i % 4),
    )
    for i in range(9)
)


@dataclass(frozen=True)
class Pair:
    """A run folder and the model exported from it."""

    run: Path
    exported: Path


def make_pair(folder: Path, name: str, **options: object) -> Pair:
    settings = {**TINY[name], **({"start": "random"} if name.startswith("pretrained") else {})}
    decode = {"name": "greedy", **BABBLE, **options}
    run = untrained_run(folder / "run", DOCUMENTS, {"name": name, **settings}, decode)
    export(run, folder / "exported")
    return Pair(run, folder / "exported")


def phrases(predictions: Iterator) -> list[list[str]]:
    return [list(prediction.texts) for prediction in predictions]
