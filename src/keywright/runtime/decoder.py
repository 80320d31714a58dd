"""An exported model as a decoder: greedy search, or expected F1 over samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keywright import lexicon
from keywright.config import to_table
from keywright.decoding.draws import in_portions, uniform
from keywright.decoding.options import ExpectedF1, Options
from keywright.decoding.phrases import Found, predictions
from keywright.decoding.rules import DecodingRules
from keywright.runtime.engine import Engine, GrowingRows, Memory
from keywright.runtime.folder import VOCABULARY, ExportManifest, read_manifest
from keywright.runtime.search import drawing, grow, most_likely
from keywright.runtime.sources import make_sources
from keywright.types import Document, Prediction


@dataclass(frozen=True)
class Settings:
    """Everything that a loaded model depends on, except its folder."""

    options: Options
    max_source: int
    threads: int


class ExportedDecoder:
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
        found = self._search(documents, self.engine.read(sources))
        return predictions(sources, found, self.vocabulary, self.rules.options, self.rules.ranking)

    def _search(self, documents: Sequence[Document], memory: Memory) -> Found:
        """The hypotheses of every row of the model."""
        options = self.settings.options
        if not isinstance(options, ExpectedF1):
            return grow(GrowingRows(self.engine, memory), self.rules, most_likely)
        rows = self.engine.manifest.rows_per_document * options.samples
        draws = uniform(options.seed, documents, rows, self.rules.max_length)

        def drawn(numbers: NDArray[np.float64], times: int) -> Found:
            growing = GrowingRows(self.engine, memory, times)
            return grow(growing, self.rules, drawing(numbers, options.temperature))

        return in_portions(draws, options.samples, drawn)


def _load_again(folder: Path, settings: Settings) -> ExportedDecoder:
    return ExportedDecoder(folder, read_manifest(folder), settings)
