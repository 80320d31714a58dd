"""Documents as the arrays that an exported model reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keywright.data.vocab import PAD, Lexicon
from keywright.types import Document

Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Sources:
    """B documents; see `data.batch.Batch`, of which this is the half without targets."""

    documents: tuple[Document, ...]
    source: Ids  # [B, S] for the encoder's embedding
    source_extended: Ids  # [B, S] in the output space
    mask: Mask  # [B, S] True at real positions
    extension: tuple[tuple[str, ...], ...]
    extension_inputs: Ids  # [B, X]


def make_sources(
    documents: Sequence[Document], vocabulary: Lexicon, max_source: int | None
) -> Sources:
    encoded = [vocabulary.encode_document(document, max_source) for document in documents]
    source, mask = _padded([e.ids for e in encoded])
    return Sources(
        documents=tuple(documents),
        source=source,
        source_extended=_padded([e.extended for e in encoded])[0],
        mask=mask,
        extension=tuple(e.extension for e in encoded),
        extension_inputs=_padded([e.extension_inputs for e in encoded])[0],
    )


def _padded(rows: Sequence[Sequence[int]]) -> tuple[Ids, Mask]:
    """Rows of ids as a matrix [len(rows), longest] and the mask of its real positions."""
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    mask = np.arange(lengths.max(initial=0)) < lengths[:, None]
    matrix = np.full(mask.shape, PAD, dtype=np.int64)
    if mask.any():
        matrix[mask] = np.concatenate(rows)
    return matrix, mask
