"""Greedy decoding with an exported model, as `decoding.strategies.greedy` does with torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from keywright import lexicon
from keywright.config import to_table
from keywright.data.padding import Ids
from keywright.decoding.numpy_rules import LogProbs, forbid
from keywright.decoding.options import Options
from keywright.decoding.phrases import Found, Hypothesis, predictions
from keywright.decoding.rules import DecodingRules
from keywright.runtime.engine import Engine, GrowingRows
from keywright.runtime.folder import VOCABULARY, ExportManifest, read_manifest
from keywright.runtime.sources import make_sources
from keywright.types import Document, Prediction


@dataclass(frozen=True)
class Settings:
    """Everything that a loaded model depends on, except its folder."""

    options: Options
    max_source: int
    threads: int


class Greedy:
    """Decodes batches of documents. It can be pickled: unpickling loads its folder again."""

    def __init__(self, folder: Path, manifest: ExportManifest, settings: Settings):
        self.folder = folder
        self.settings = settings
        self.vocabulary = lexicon.load(folder / VOCABULARY)
        self.engine = Engine(folder, manifest, self.vocabulary, settings.threads)
        self.rules = DecodingRules(settings.options, manifest.paradigm, self.vocabulary.special)

    @property
    def description(self) -> dict[str, Any]:
        """Everything that predictions depend on, except documents and batches."""
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
        found = search(GrowingRows(self.engine, self.engine.read(sources)), self.rules)
        return predictions(sources, found, self.vocabulary, self.rules.options, self.rules.ranking)


def _load_again(folder: Path, settings: Settings) -> Greedy:
    return Greedy(folder, read_manifest(folder), settings)


@dataclass(frozen=True)
class History:
    """The t tokens that each of R rows has generated so far."""

    tokens: Ids  # [R, t]
    log_probs: LogProbs  # [R, t]
    attended: Ids  # [R, t]

    @classmethod
    def empty(cls, rows: int) -> Self:
        nothing = np.empty((rows, 0), dtype=np.int64)
        return cls(nothing, nothing.astype(np.float32), nothing)

    def append(self, tokens: Ids, log_probs: LogProbs, attended: Ids) -> Self:
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


class Growing(Protocol):
    """Rows that a model continues: see `engine.GrowingRows`."""

    def start(self) -> Ids: ...

    def step(self, tokens: Ids) -> tuple[LogProbs, Ids]: ...

    def keep(self, index: Ids) -> None: ...


def search(growing: Growing, rules: DecodingRules) -> Found:
    """One hypothesis for every row. Rows that have ended are removed, so that the batch shrinks."""
    tokens = growing.start()
    rows = np.arange(len(tokens))
    found: Found = [[] for _ in rows]
    history = History.empty(len(rows))
    for t in range(1, rules.max_length + 1):
        log_probs, attended = growing.step(tokens)
        forbid(rules, log_probs, history.tokens)
        tokens = log_probs.argmax(axis=1)  # the first of equal ones
        chosen = log_probs[np.arange(len(tokens)), tokens]
        history = history.append(tokens, chosen, attended)
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
