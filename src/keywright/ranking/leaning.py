"""What is added to the log-odds of candidates: which of similar phrases people prefer.

Trees learn from one kind of annotators what they choose. Authors often choose a part of a longer
phrase; indexers and readers prefer the longer, more specific one (Hulth 2003 for Inspec), and
tools for other genres prefer phrases that are repeated. A little of each costs nothing where the
trees learnt, and helps elsewhere: docs/model-card.md has the curve.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.floating[Any]]

LARGEST = 8.0  # difference of log-odds that counts
# The value of a phrase with one, two, and more words.
LENGTHS = np.array([0.0, 1.0, 1.5])


@dataclass(frozen=True, kw_only=True)
class Leaning:
    """Weights of what is added; by default nothing is."""

    # How much the span tagger prefers a phrase to the best one that is a word longer.
    longer: float = 0.0
    length: float = 0.0  # see LENGTHS
    count: float = 0.0  # the logarithm of how often a phrase occurs

    def __call__(self, column: Callable[[str], Column]) -> Column | float:
        """From the features of present candidates: what is added to their log-odds [C]."""
        if self == Leaning():
            return 0.0
        words = column("length").astype(np.int64).clip(1, len(LENGTHS))
        return np.asarray(
            self.longer * column("tagged.longer").clip(-LARGEST, LARGEST)
            + self.length * LENGTHS[words - 1]
            + self.count * np.log(column("count"))
        )
