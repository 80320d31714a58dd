"""Do a system's phrases repeat themselves? After Yuan et al. (2020), section 6.2.

All phrases count as they were predicted, before any protocol's filters; two phrases are the same if
their normalised stems are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from keywright.analysis.systems import phrase_key
from keywright.types import Prediction


@dataclass(frozen=True)
class Diversity:
    """Means over documents, and shares of all phrases of the corpus.

    `repeated` is the share of phrases that were predicted before for the same document. Among the
    different phrases of a document, `repeated_first_words` is the share that begins with the same
    word as an earlier phrase (the paper's appendix shows phrases that all start with "test"), and
    `repeated_words` is the share of words that an earlier phrase has used.
    """

    documents: int
    phrases: float
    unique: float
    first_words: float
    repeated: float
    repeated_first_words: float
    repeated_words: float


def diversity(predictions: Iterable[Prediction]) -> Diversity:
    documents = phrases = unique = first_words = words = different_words = 0
    for prediction in predictions:
        keys = [key for text in prediction.texts if (key := phrase_key(text))]
        split = [key.split(" ") for key in dict.fromkeys(keys)]
        documents += 1
        phrases += len(keys)
        unique += len(split)
        first_words += len({tokens[0] for tokens in split})
        words += sum(map(len, split))
        different_words += len({token for tokens in split for token in tokens})
    return Diversity(
        documents=documents,
        phrases=_over(phrases, documents),
        unique=_over(unique, documents),
        first_words=_over(first_words, documents),
        repeated=_over(phrases - unique, phrases),
        repeated_first_words=_over(unique - first_words, unique),
        repeated_words=_over(words - different_words, words),
    )


def _over(numerator: int, denominator: int) -> float:
    return numerator / denominator if denominator else 0.0
