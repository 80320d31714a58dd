"""Which phrases are the same: by their stems, and by the meaning of their words.

Two words are the same if their static vectors (those of the shipped model) are nearly parallel,
such as "neural" and "neuronal"; two phrases, if their words are the same one by one. Words with
numbers, short words and opposites ("fertile", "infertile") are never the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from keywright.predictor import DEFAULT_FOLDER
from keywright.ranking.arrays import read_arrays
from keywright.ranking.keys import keys
from keywright.ranking.meaning import Meaning, unit
from keywright.ranking.model import MEANING, MEANING_SIZES
from keywright.text.reading import Stems, literal_stems

# Chosen by reading pairs of keyphrases of KP20k: from here on, most pairs mean the same.
SAME = 0.82
FEWEST_LETTERS = 5
MOST_WORDS = 5000  # the most frequent ones; the others are only the same if they are equal


def shipped_meaning() -> Meaning:
    arrays = read_arrays(DEFAULT_FOLDER / MEANING, MEANING_SIZES, {})
    return Meaning(arrays["stems"], arrays["vectors"], arrays["scale"])


class Merging:
    """Phrases by key; all spellings of a key are counted."""

    def __init__(self, phrases: Iterable[str], meaning: Meaning | None, same: float = SAME) -> None:
        words: Counter[str] = Counter()
        for phrase in phrases:
            words.update(literal_stems(phrase))
        self._same = {} if meaning is None else _classes(words, meaning, same)

    def key(self, phrase: str) -> Stems:
        return tuple(self._same.get(stem, stem) for stem in literal_stems(phrase))


def _classes(words: Counter[str], meaning: Meaning, same: float) -> dict[str, str]:
    """For words that mean the same as a more frequent one, that one."""
    common = [word for word, _ in words.most_common() if _is_word(word)][:MOST_WORDS]
    vectors = unit(meaning.words(keys((word,) for word in common)))
    kept: list[int] = []
    found = {}
    rows = np.zeros_like(vectors)  # of the words kept so far
    for number, word in enumerate(common):
        near = rows[: len(kept)] @ vectors[number]
        best = int(near.argmax()) if kept else -1
        if best >= 0 and near[best] >= same and not _opposite(word, common[kept[best]]):
            found[word] = common[kept[best]]
        else:
            rows[len(kept)] = vectors[number]
            kept.append(number)
    return found


def _is_word(stem: str) -> bool:
    return len(stem) >= FEWEST_LETTERS and stem.isalpha()


def _opposite(word: str, other: str) -> bool:
    """Whether one is the other with a prefix, such as un-, in- or anti-."""
    return word.endswith(other) or other.endswith(word)
