"""KPDrop (Ray Chowdhury et al. 2022): remove present keyphrases, so that they become absent.

Every occurrence of a dropped phrase, whatever its form (stems decide), is replaced by one blank.
The phrase stays a keyphrase. Phrases that overlap with it may become absent as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

import msgspec
import numpy as np

from keywright.data.targets import gold_phrases
from keywright.lexicon import BLANK
from keywright.text import tokenise
from keywright.text.presence import runs
from keywright.text.stem import stems
from keywright.types import Document


@dataclass(frozen=True)
class KPDrop:
    """Document -> documents: one with dropped keyphrases instead of the original, or both."""

    mode: Literal["replace", "augment"]
    rate: float  # the probability that a present keyphrase is dropped

    def __call__(self, document: Document, rng: np.random.Generator) -> Sequence[Document]:
        dropped = drop(document, self.rate, rng)
        return [dropped] if self.mode == "replace" else [document, dropped]


def drop(document: Document, rate: float, rng: np.random.Generator) -> Document:
    """The document without each of its present keyphrases with probability `rate`."""
    present = [stems(phrase.words) for phrase in gold_phrases(document) if phrase.present]
    dropped = [phrase for phrase in present if rng.random() < rate]
    return msgspec.structs.replace(
        document,
        title=_without(dropped, document.title, document.tokenised),
        body=_without(dropped, document.body, document.tokenised),
    )


def _without(phrases: Sequence[Sequence[str]], text: str, tokenised: bool) -> str:
    """The text with a blank for every run of words that belong to one of the stemmed phrases."""
    source = stems(tokenise.words(text, tokenised))
    gone = [False] * len(source)
    for phrase in phrases:
        for at in runs(phrase, source):
            gone[at : at + len(phrase)] = [True] * len(phrase)
    places = tokenise.spans(text, tokenised)
    kept, end = "", 0
    for is_gone, group in groupby(zip(gone, places, strict=True), key=lambda pair: pair[0]):
        if is_gone:
            run = [place for _, place in group]
            kept += text[end : run[0][0]] + BLANK
            end = run[-1][1]
    return kept + text[end:]
