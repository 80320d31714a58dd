"""Pairs of phrases as a BERT reads them: `[CLS] first [SEP] second [SEP]`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from keywright.lexicon import BOS, EOS, PAD
from keywright.lexicons.wordpieces import WordpieceVocabulary
from keywright.scorers.config import Scorer

Pair = tuple[str, str]
"""A prediction and a target, each as stems joined by blanks."""

# Phrases whose wordpieces are kept; beyond this many the table starts afresh.
MOST_PHRASES = 500_000


class Input(NamedTuple):
    ids: Tensor  # [B, S]
    mask: Tensor  # [B, S] bool, True at real positions


class PairReader:
    """The wordpieces of pairs; those of a phrase are looked up once."""

    def __init__(self, vocabulary: WordpieceVocabulary, scorer: Scorer):
        self._vocabulary = vocabulary
        self._max_pieces = scorer.max_pieces
        self._prediction_first = scorer.first == "prediction"
        self._first_mark = vocabulary.input_ids[BOS]  # the id of [CLS]
        self._mark = vocabulary.input_ids[EOS]  # the id of [SEP]
        self._phrases: dict[str, list[int]] = {}

    def ids(self, pair: Pair) -> list[int]:
        """A pair as wordpieces; what is too long of a phrase is cut."""
        first, second = pair if self._prediction_first else (pair[1], pair[0])
        return [
            self._first_mark,
            *self._phrase(first),
            self._mark,
            *self._phrase(second),
            self._mark,
        ]

    def _phrase(self, phrase: str) -> list[int]:
        found = self._phrases.get(phrase)
        if found is None:
            if len(self._phrases) >= MOST_PHRASES:
                self._phrases.clear()
            words = phrase.split(" ")
            ids = [piece.input for word in words for piece in self._vocabulary.split(word)]
            found = self._phrases[phrase] = ids[: self._max_pieces]
        return found


def collate(rows: Sequence[Sequence[int]]) -> Input:
    """Rows of ids [B, lengths], padded to the longest one."""
    lengths = np.array([len(row) for row in rows])
    ids = np.full((len(rows), int(lengths.max())), PAD, dtype=np.int64)
    for place, row in enumerate(rows):
        ids[place, : len(row)] = row
    mask = np.arange(ids.shape[1]) < lengths[:, None]
    return Input(torch.from_numpy(ids), torch.from_numpy(mask))
