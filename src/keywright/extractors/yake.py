"""YAKE! (Campos et al. 2020), by its authors' library: statistics of a single document.

Candidates are runs of words without stopwords at their ends, ranked by the frequency, case,
position, neighbours and spread over sentences of their words. The score of a phrase is YAKE's with
the opposite sign, because low values are best there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from keywright.config import Count, Probability
from keywright.errors import MissingExtraError
from keywright.extractors._running import prediction, running_text
from keywright.types import Document, Prediction


@dataclass(frozen=True)
class Config:
    """Defaults are those of the library, except for the number of phrases."""

    language: str = "en"
    longest: Count = 3  # words
    similarity: Probability = (
        0.9  # of two phrases more similar than this, only the better is listed
    )
    co_occurrence: Count = 1  # words on each side that count as neighbours
    max_phrases: Count = 10


@dataclass(frozen=True)
class Yake:
    extractor: Any

    @property
    def window(self) -> int:
        return 1

    def predict(self, documents: Iterable[Document]) -> Iterator[Prediction]:
        for document in documents:
            found = self.extractor.extract_keywords(running_text(document))
            yield prediction(document, ((text, -score) for text, score in found))


def build(config: Config) -> Yake:
    try:
        import yake
    except ModuleNotFoundError as error:
        if error.name != "yake":
            raise
        raise MissingExtraError("yake", "yake", "bench") from None
    return Yake(
        yake.KeywordExtractor(
            lan=config.language,
            n=config.longest,
            dedup_lim=config.similarity,
            window_size=config.co_occurrence,
            top=config.max_phrases,
        )
    )
