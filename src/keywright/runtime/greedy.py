"""Greedy decoding of documents by an exported model; what `decoding.greedy` is to torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from keywright.config import to_table
from keywright.runtime.engine import Engine, Rows
from keywright.runtime.folder import Manifest, read_manifest, read_vocabulary
from keywright.runtime.options import Options
from keywright.runtime.phrases import Found, Hypothesis, predictions
from keywright.runtime.rules import Rules
from keywright.runtime.sources import Ids, Sources, make_sources
from keywright.types import Document, Prediction


@dataclass(frozen=True)
class Settings:
    """All that a loaded model depends on but its folder."""

    options: Options
    max_source: int
    threads: int


class Greedy:
    """Decodes batches of documents. It can be pickled: it is then loaded again from its folder."""

    def __init__(self, folder: Path, manifest: Manifest, settings: Settings):
        self.folder = folder
        self.settings = settings
        self.vocabulary = read_vocabulary(folder, manifest)
        input_ids = np.array(self.vocabulary.input_ids, dtype=np.int64)
        self.engine = Engine(folder, manifest, input_ids, settings.threads)
        self.rules = Rules(settings.options, manifest.paradigm)

    @property
    def description(self) -> dict[str, Any]:
        """All that predictions depend on but documents and batches."""
        manifest = self.engine.manifest
        return {
            "weights": manifest.files,
            "decode": to_table(self.settings.options),
            "max_source": self.settings.max_source,
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return _load_again, (self.folder, self.settings)

    def __call__(self, documents: Sequence[Document]) -> list[Prediction]:
        sources = make_sources(documents, self.vocabulary, self.settings.max_source)
        found = search(self.engine, sources, self.rules)
        return predictions(sources, found, self.vocabulary, self.rules.options, self.rules.ranking)


def _load_again(folder: Path, settings: Settings) -> Greedy:
    return Greedy(folder, read_manifest(folder), settings)


@dataclass(frozen=True)
class History:
    """What R rows have said so far: t tokens each."""

    tokens: Ids  # [R, t]
    log_probs: NDArray[np.float32]  # [R, t]
    attended: Ids  # [R, t]

    @classmethod
    def empty(cls, rows: int) -> Self:
        nothing = np.empty((rows, 0), dtype=np.int64)
        return cls(nothing, nothing.astype(np.float32), nothing)

    def append(self, tokens: Ids, log_probs: NDArray[np.float32], attended: Ids) -> Self:
        return type(self)(
            np.column_stack([self.tokens, tokens]),
            np.column_stack([self.log_probs, log_probs]),
            np.column_stack([self.attended, attended]),
        )

    def select(self, index: Ids) -> Self:
        return type(self)(self.tokens[index], self.log_probs[index], self.attended[index])

    def hypothesis(self, row: int) -> Hypothesis:
        log_probs = self.log_probs[row].tolist()
        score = float(np.mean(log_probs))
        return Hypothesis(self.tokens[row].tolist(), log_probs, self.attended[row].tolist(), score)


def search(engine: Engine, sources: Sources, rules: Rules) -> Found:
    """One hypothesis for every row. Rows that have ended leave the batch, so that it shrinks."""
    growing = Rows(engine, engine.read(sources))
    tokens = growing.start()
    rows = np.arange(len(tokens))
    found: Found = [[] for _ in rows]
    history = History.empty(len(rows))
    for t in range(1, rules.max_length + 1):
        log_probs, attended = growing.step(tokens)
        rules.forbid(log_probs, history.tokens)
        tokens = log_probs.argmax(axis=1)  # of equals the first
        said = log_probs[np.arange(len(tokens)), tokens]
        history = history.append(tokens, said, attended)
        ended = rules.ended(tokens) if t < rules.max_length else np.ones_like(rows, dtype=bool)
        if not ended.any():
            continue
        for row in ended.nonzero()[0].tolist():
            found[int(rows[row])].append(history.hypothesis(row))
        alive = (~ended).nonzero()[0]
        if not len(alive):
            break
        growing.keep(alive)
        rows, tokens, history = rows[alive], tokens[alive], history.select(alive)
    return found
