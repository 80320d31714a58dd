"""A trained scorer at work: pairs of phrases in, scores between 0 and 1 out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import torch

from keywright.errors import DataError
from keywright.nn.cross_encoder import CrossEncoder
from keywright.scorers import folder as folders
from keywright.scorers.reading import Pair, PairReader, collate

Precision = Literal["fp32", "bf16"]
"""bf16 rounds scores to two or three digits; it is faster on processors that have it."""

BATCH = 128
# Pairs whose scores are kept, some 200 bytes each; beyond this many the table starts afresh.
MOST_PAIRS = 1_000_000


class PairScorer:
    """Scores each pair once. Batches hold pairs of like length, so that hardly any is padding.

    How pairs are batched does not change what they score, up to rounding of single precision.
    """

    def __init__(
        self,
        model: CrossEncoder,
        reader: PairReader,
        precision: Precision = "fp32",
        batch: int = BATCH,
    ):
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        half = precision == "bf16"
        self._autocast = torch.autocast(self._device.type, dtype=torch.bfloat16, enabled=half)
        self._model = model.to(self._device).eval().requires_grad_(False)
        self._reader = reader
        self._batch = batch
        self._known: dict[Pair, float] = {}

    def __call__(self, pairs: Sequence[Pair]) -> list[float]:
        """The scores of (prediction, target) pairs, each phrase as stems joined by blanks."""
        known = self._known
        new = [pair for pair in dict.fromkeys(pairs) if pair not in known]
        if len(known) + len(new) > MOST_PAIRS:
            known.clear()
            new = list(dict.fromkeys(pairs))
        for some, scores in self._scored(new):
            known.update(zip(some, scores, strict=True))
        return [known[pair] for pair in pairs]

    def _scored(self, pairs: Sequence[Pair]) -> Iterator[tuple[list[Pair], list[float]]]:
        rows = sorted(((self._reader.ids(pair), pair) for pair in pairs), key=lambda r: len(r[0]))
        for start in range(0, len(rows), self._batch):
            some = rows[start : start + self._batch]
            ids, mask = collate([ids for ids, _ in some])
            # `no_grad` in place of `inference_mode`: a policy may be trained around this call.
            with torch.no_grad(), self._autocast:
                logits = self._model(ids.to(self._device), mask.to(self._device))
            if not torch.isfinite(logits).all():
                raise DataError(
                    f"a scorer gives {some[0][1]} a score that is not a number; its weights are "
                    "damaged or diverged: train it again"
                )
            yield [pair for _, pair in some], torch.sigmoid(logits.float()).tolist()


def load(folder: str | Path, precision: Precision = "fp32") -> PairScorer:
    """The scorer of a run folder."""
    run = folders.read(Path(folder))
    return PairScorer(run.load(), PairReader(run.vocabulary, run.config.scorer), precision)
