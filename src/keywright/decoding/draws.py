"""Random numbers for sampling, the same for torch and ONNX Runtime.

They depend only on the seed and a document's text, so that a document gets the same samples alone
or in a batch, and when an interrupted run is resumed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from keywright.decoding.phrases import Found
from keywright.types import Document

ROWS = 512  # that grow at once: each needs memory for the whole vocabulary


def uniform(
    seed: int, documents: Sequence[Document], rows: int, length: int
) -> NDArray[np.float64]:
    """Random numbers [documents * rows, length] in [0, 1)."""
    found = np.empty((len(documents), rows, length))
    for place, document in enumerate(documents):
        digest = hashlib.blake2b(f"{seed}\n{document.text}".encode(errors="surrogatepass"))
        generator = np.random.default_rng(int.from_bytes(digest.digest()[:8], "big"))
        generator.random(out=found[place])
    return found.reshape(len(documents) * rows, length)


def in_portions(
    draws: NDArray[np.float64], samples: int, grow: Callable[[NDArray[np.float64], int], Found]
) -> Found:
    """The samples of each row, drawn by `grow(numbers, times)`, which repeats every row `times`
    times and returns one hypothesis for each; `draws` [rows * samples, T] are for all of them."""
    numbers = draws.reshape(-1, samples, draws.shape[1])
    found: Found = [[] for _ in numbers]
    step = max(1, ROWS // max(1, len(numbers)))
    for start in range(0, samples, step):
        portion = numbers[:, start : start + step]
        times = portion.shape[1]
        drawn = grow(portion.reshape(-1, draws.shape[1]), times)
        for row, hypotheses in enumerate(found):
            hypotheses += [one for [one] in drawn[row * times : (row + 1) * times]]
    return found
