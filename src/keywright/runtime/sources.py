"""Documents as the arrays that an exported model reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from keywright.data.padding import Ids, Mask, padded
from keywright.lexicon import Lexicon
from keywright.types import Document


@dataclass(frozen=True)
class Sources:
    """B documents: `data.batch.Batch` without targets and without torch."""

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
    pad = vocabulary.special.pad
    source, mask = padded([e.ids for e in encoded], pad)
    return Sources(
        documents=tuple(documents),
        source=source,
        source_extended=padded([e.extended for e in encoded], pad)[0],
        mask=mask,
        extension=tuple(e.extension for e in encoded),
        extension_inputs=padded([e.extension_inputs for e in encoded], pad)[0],
    )
