"""`Keywright`: texts in, keyphrases out."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, overload

from keywright.errors import ConfigError
from keywright.generation.keyphrases import Keyphrase, keyphrases
from keywright.generation.windows import combine, windows
from keywright.predictor import Loaded, load
from keywright.types import Document, Prediction

# About as many words as a document has in what models are trained on; longer ones are windowed.
WINDOW_WORDS = 300


@dataclass(frozen=True)
class Wanted:
    """Which of a document's keyphrases are wanted."""

    top: int | None = None
    min_probability: float = 0.0
    present: bool = True
    absent: bool = True

    def __post_init__(self) -> None:
        if self.top is not None and self.top < 1:
            raise ConfigError(f"top is {self.top}; it must be at least 1")
        if not 0 <= self.min_probability <= 1:
            raise ConfigError(
                f"the least probability is {self.min_probability}; it must lie between 0 and 1"
            )
        if not self.present and not self.absent:
            raise ConfigError("neither present nor absent keyphrases are wanted: choose one")

    def __call__(self, found: Iterable[Keyphrase]) -> list[Keyphrase]:
        kept = [
            one
            for one in found
            if (self.present if one.present else self.absent)
            # A phrase without a probability cannot fall below one.
            and (one.probability is None or one.probability >= self.min_probability)
        ]
        return kept[: self.top]


EVERYTHING = Wanted()


class Keywright:
    """Generates keyphrases for texts.

    `model` is what `keywright.predictor.load` takes: the folder of a model, or the name of an
    extractor such as "textrank". One object may be used by many threads; pickled, it loads its
    model again where it arrives.

        kw = Keywright("textrank")
        kw.generate("Heat pumps in old houses ...")       # a list of Keyphrase
        for found in kw.generate(many_texts): ...         # streamed, in order
    """

    def __init__(self, model: str, *, window_words: int = WINDOW_WORDS, **options: Any) -> None:
        if window_words < 20:
            raise ConfigError(f"window_words is {window_words}; a window needs at least 20 words")
        self._settings = (model, window_words, options)
        self._window_words = window_words
        self._predictor: Loaded = load(model, **options)
        # Predictors may cache; one batch at a time keeps them simple and costs no speed, since
        # the work inside a batch already uses all threads.
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, self._settings

    @overload
    def generate(  # type: ignore[overload-overlap]  # a str is an iterable of str, too
        self, texts: str | Document, wanted: Wanted = ...
    ) -> list[Keyphrase]: ...

    @overload
    def generate(
        self, texts: Iterable[str | Document], wanted: Wanted = ...
    ) -> Iterator[list[Keyphrase]]: ...

    def generate(
        self, texts: str | Document | Iterable[str | Document], wanted: Wanted = EVERYTHING
    ) -> list[Keyphrase] | Iterator[list[Keyphrase]]:
        """The keyphrases of a text, or of each of many texts, best first."""
        if isinstance(texts, str | Document):
            return next(self._stream([texts], wanted))
        return self._stream(texts, wanted)

    def predict(self, documents: Iterable[Document]) -> Iterator[Prediction]:
        """Raw predictions, one for each document: long documents in windows, combined."""
        for _, prediction in self._predicted(documents):
            yield prediction

    def _stream(self, texts: Iterable[str | Document], wanted: Wanted) -> Iterator[list[Keyphrase]]:
        documents = (
            text if isinstance(text, Document) else Document(title="", body=text) for text in texts
        )
        for document, prediction in self._predicted(documents):
            yield wanted(keyphrases(document, prediction))

    def _predicted(self, documents: Iterable[Document]) -> Iterator[tuple[Document, Prediction]]:
        """Every document with its prediction; windows of many documents share the batches."""
        waiting: deque[tuple[Document, int]] = deque()

        def pieces() -> Iterator[Document]:
            for document in documents:
                cut = windows(document, self._window_words) if document.text.strip() else []
                waiting.append((document, len(cut)))
                yield from cut

        found: list[Prediction] = []
        predicted = self._locked(pieces())
        while True:
            while waiting and waiting[0][1] <= len(found):
                document, count = waiting.popleft()
                yield document, _joined(document, found[:count])
                del found[:count]
            prediction = next(predicted, None)
            if prediction is None:
                break
            found.append(prediction)
        for document, count in waiting:
            yield document, _joined(document, found[:count])
            del found[:count]

    def _locked(self, documents: Iterable[Document]) -> Iterator[Prediction]:
        predicted = self._predictor.predict(documents)
        while True:
            with self._lock:
                prediction = next(predicted, None)
            if prediction is None:
                return
            yield prediction


def _joined(document: Document, found: list[Prediction]) -> Prediction:
    """An empty text has no windows, and so no keyphrases."""
    if not found:
        return Prediction(document_id=document.id, phrases=())
    return combine(document, found)


def _again(model: str, window_words: int, options: dict[str, Any]) -> Keywright:
    return Keywright(model, window_words=window_words, **options)
