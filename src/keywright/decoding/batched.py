"""Documents decoded in batches of similar length, and their predictions in the original order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

from keywright.types import Document, Prediction

# The documents of this many batches are sorted by length together: a larger number means less
# padding, but the first prediction comes later.
BATCHES_PER_WINDOW = 16
# Sequences that a model continues at once, by default. More are not faster on a CPU.
ROWS = 256
MAX_DOCUMENTS = 32

T = TypeVar("T")
Decode = Callable[[Sequence[Document]], list[Prediction]]
D = TypeVar("D", bound=Decode)


@dataclass(frozen=True)
class Batched(Generic[D]):
    """A predictor that decodes documents of similar length together and restores their order."""

    decode: D
    batch: int

    @property
    def window(self) -> int:
        return self.batch * BATCHES_PER_WINDOW

    def predict(self, documents: Iterable[Document]) -> Iterator[Prediction]:
        for window in _cut(documents, self.window):
            order = sorted(range(len(window)), key=lambda i: len(window[i].text))
            predicted: dict[int, Prediction] = {}
            for indices in _cut(order, self.batch):
                found = self.decode([window[i] for i in indices])
                predicted.update(zip(indices, found, strict=True))
            yield from (predicted[i] for i in range(len(window)))


def default_batch(rows_per_document: int) -> int:
    return min(MAX_DOCUMENTS, max(1, ROWS // rows_per_document))


def _cut(values: Iterable[T], size: int) -> Iterator[list[T]]:
    values = iter(values)
    while piece := list(islice(values, size)):
        yield piece
