"""Vectors of phrases and texts from a sentence encoder; every phrase is encoded once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from keywright.data import minilm
from keywright.errors import DataError, KeywrightError, MissingExtraError
from keywright.matches import ScoringRules, WordedMatches
from keywright.metric import Array, Chunk, Metric

MINILM = "minilm"
# Phrases whose vectors are kept: about 150 MB for MiniLM.
MOST_PHRASES = 50_000

Encode = Callable[[Sequence[str]], Any]
"""Texts -> vectors [texts, D] of length 1."""


class Encoder:
    """Vectors by text. Beyond a number of texts the table starts again."""

    def __init__(self, encode: Encode) -> None:
        self._encode = encode
        self._vectors: dict[str, Array] = {}

    def vectors(self, texts: Iterable[str]) -> dict[str, Array]:
        """The vectors of all the texts, those that are new computed together."""
        wanted = list(dict.fromkeys(texts))
        new = [text for text in wanted if text not in self._vectors]
        if new:
            found = {text: self._vectors[text] for text in wanted if text in self._vectors}
            found |= dict(zip(new, np.asarray(self._encode(new), dtype=np.float64), strict=True))
            if len(self._vectors) + len(new) > MOST_PHRASES:
                self._vectors.clear()
            self._vectors |= found
            return found
        return {text: self._vectors[text] for text in wanted}


@lru_cache(2)
def load(name: str) -> Encoder:
    """The encoder `minilm`, or a folder or name that sentence-transformers knows."""
    try:
        from sentence_transformers import SentenceTransformer
    except ModuleNotFoundError as error:
        if error.name != "sentence_transformers":
            raise
        raise MissingExtraError(
            "a measure of meaning", "sentence-transformers", "semantic"
        ) from None
    own = name == MINILM
    try:
        model = SentenceTransformer(
            str(minilm.folder()) if own else name, local_files_only=own, trust_remote_code=False
        )
    except (OSError, ValueError) as error:
        first = next(iter(str(error).splitlines()), type(error).__name__)
        raise DataError(f"is no sentence encoder that can be loaded: {first}", name) from None

    def encode(texts: Sequence[str]) -> Any:
        return model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)

    return Encoder(encode)


def require_words(metric: Metric, rules: ScoringRules) -> None:
    if not rules.encoder:
        raise KeywrightError(
            f"metric {metric} compares what phrases mean, which needs: --protocol kpeval"
        )


def worded(chunk: Chunk) -> list[WordedMatches]:
    return [matches for matches in chunk.matches if isinstance(matches, WordedMatches)]
