"""KeyBERT (Grootendorst 2020), by its author's library: the phrases most similar to the document.

The document and its candidates (runs of words after stopwords are removed) are embedded by a
sentence encoder, MiniLM by default, and candidates are ranked by their cosine with the document.
`diversity` enables maximal marginal relevance, which also penalises similarity to the phrases
already selected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from keywright.config import Count, Probability
from keywright.data import minilm
from keywright.errors import MissingExtraError
from keywright.extractors._running import prediction, running_text
from keywright.types import Document, Prediction

LIBRARIES = ("keybert", "sentence_transformers")


@dataclass(frozen=True)
class Config:
    encoder: str | None = None  # a sentence-transformers folder or name; MiniLM's by default
    longest: Count = 3  # words
    diversity: Probability | None = None  # None: rank by similarity to the document alone
    batch: Count = 1  # documents whose candidates are embedded together
    max_phrases: Count = 10


@dataclass(frozen=True)
class KeyBert:
    config: Config
    model: Any

    @property
    def window(self) -> int:
        return self.config.batch

    def predict(self, documents: Iterable[Document]) -> Iterator[Prediction]:
        documents = iter(documents)
        while batch := list(islice(documents, self.config.batch)):
            for document, found in zip(batch, self._ranked(batch), strict=True):
                yield prediction(document, found)

    def _ranked(self, documents: Sequence[Document]) -> list[list[tuple[str, float]]]:
        config = self.config
        found = self.model.extract_keywords(
            [running_text(document) for document in documents],
            keyphrase_ngram_range=(1, config.longest),
            use_mmr=config.diversity is not None,
            diversity=config.diversity or 0.0,
            top_n=config.max_phrases,
        )
        if not found:  # all words of all documents are stopwords
            return [[] for _ in documents]
        # For a single document, the library returns its phrases and not a list of lists.
        return [found] if len(documents) == 1 else found


def build(config: Config) -> KeyBert:
    try:
        from keybert import KeyBERT
        from sentence_transformers import SentenceTransformer
    except ModuleNotFoundError as error:
        if error.name not in LIBRARIES:
            raise
        raise MissingExtraError("keybert", error.name.replace("_", "-"), "bench") from None
    if config.encoder is None:
        encoder = SentenceTransformer(str(minilm.folder()), local_files_only=True)
    else:
        encoder = SentenceTransformer(config.encoder)
    return KeyBert(config, KeyBERT(encoder))
