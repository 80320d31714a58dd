"""Random numbers for sampling, the same for torch and ONNX Runtime.

They depend only on the seed and a document's text, so that a document gets the same samples alone
or in a batch, and when an interrupted run is resumed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from keywright.types import Document


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
