"""A fake engine with fixed answers, which can be held up."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator

from keywright.generation.engine import Selection
from keywright.generation.keyphrases import Keyphrase
from keywright.types import Document
from keywright.vocabularies.terms import Terms


class FakeEngine:
    """Every document's keyphrase is its first word; "boom" in a text raises an error.

    While `open` is cleared the engine blocks; `begun` is set once it has started.
    """

    needs_all = False

    def __init__(self, calibrated: bool = True) -> None:
        self.calibrated = calibrated
        self.open = threading.Event()
        self.open.set()
        self.begun = threading.Event()
        self.inside = 0  # documents of the latest batch
        self.batches: list[int] = []

    def __reduce__(self) -> tuple[type[FakeEngine], tuple[bool]]:
        return FakeEngine, (self.calibrated,)

    def generate(
        self, texts: Iterable[Document], selection: Selection, /
    ) -> Iterator[list[Keyphrase]]:
        documents = list(texts)
        self.inside = len(documents)
        self.begun.set()
        assert self.open.wait(60)
        self.batches.append(len(documents))
        return iter([_keyphrases(document) for document in documents])

    def with_vocabulary(self, vocabulary: Terms, /) -> FakeEngine:
        """An engine whose keyphrases are the terms."""
        return _FakeTagger([term.text for term in vocabulary])

    def warnings(self, document: Document) -> list[str]:
        return ["is strange"] if "strange" in document.text else []


def _keyphrases(document: Document) -> list[Keyphrase]:
    if "boom" in document.text:
        raise ValueError(f"cannot read: {document.text}")
    first = document.text.split()[0]
    return [
        Keyphrase(text=first, probability=0.9, present=True, places=((0, len(first)),)),
        Keyphrase(text="beyond", probability=0.2, present=False, evidence=document.text),
    ]


class _FakeTagger(FakeEngine):
    def __init__(self, names: list[str]) -> None:
        super().__init__()
        self._names = names

    def generate(
        self, texts: Iterable[Document], selection: Selection, /
    ) -> Iterator[list[Keyphrase]]:
        tags = [Keyphrase(text=name, probability=0.5, present=False) for name in self._names]
        return iter([tags for _ in texts])
