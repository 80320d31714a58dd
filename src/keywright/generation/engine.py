"""`Keywright`: texts in, keyphrases out."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

from keywright.errors import ConfigError
from keywright.generation.keyphrases import Keyphrase, keyphrases
from keywright.generation.language import looks_english
from keywright.generation.vocabulary import Controlled, Mode
from keywright.generation.windows import combine, windows
from keywright.predictor import DEFAULT, Loaded, load
from keywright.types import Document, Prediction
from keywright.vocabularies.terms import Terms

# About as many words as a document has in what models are trained on; longer ones are windowed.
WINDOW_WORDS = 300
FEWEST_WINDOW_WORDS = 20


@dataclass(frozen=True)
class Wanted:
    """Which of a document's keyphrases are wanted.

    `precision` keeps as many of the best as are expected to be right in this share: the mean of
    calibrated probabilities is the expected precision. It is reached for every document by
    itself, and so for any collection of them; a document of doubtful phrases gets none.
    """

    top: int | None = None
    min_probability: float = 0.0
    present: bool = True
    absent: bool = True
    precision: float | None = None

    def __post_init__(self) -> None:
        if self.top is not None and self.top < 1:
            raise ConfigError(f"top is {self.top}; it must be at least 1")
        if not 0 <= self.min_probability <= 1:
            raise ConfigError(
                f"the least probability is {self.min_probability}; it must lie between 0 and 1"
            )
        if self.precision is not None and not 0 < self.precision <= 1:
            raise ConfigError(f"precision is {self.precision}; it must lie above 0 and up to 1")
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
        return kept[: self._precise(kept)][: self.top]

    def _precise(self, best_first: Sequence[Keyphrase]) -> int | None:
        """How many of the best have a mean probability of at least `precision`."""
        if self.precision is None:
            return None
        total, enough = 0.0, 0
        for count, one in enumerate(best_first, 1):
            if one.probability is None:
                break
            total += one.probability
            # Best first, the mean never rises again; rounding must not end it too early.
            if total / count >= self.precision - 1e-9:
                enough = count
        return enough


EVERYTHING = Wanted()


class Keywright:
    """Generates keyphrases for texts.

    `model` is what `keywright.predictor.load` takes: the model that comes with the package by
    default, the folder of another, or the name of an extractor such as "textrank". One object may
    be used by many threads; pickled, it loads its model again where it arrives. With a
    `vocabulary` (a file or `Terms`) keyphrases are its terms; see docs/vocabularies.md.

        kw = Keywright()
        kw.generate("Heat pumps in old houses ...")       # a list of Keyphrase
        for found in kw.generate(many_texts): ...         # streamed, in order
    """

    def __init__(
        self,
        model: str | Path = DEFAULT,
        *,
        window_words: int | None = None,
        vocabulary: str | Path | Terms | None = None,
        vocabulary_mode: Mode = "only",
        **options: Any,
    ) -> None:
        self._settings = (model, window_words, vocabulary, vocabulary_mode, options)
        self._keyphrases = _in_words_of(vocabulary, vocabulary_mode)
        self._loaded: Loaded = load(model, **options)
        self._window_words = _window_words(window_words, self._loaded.most_words)
        # Predictors may cache; one batch at a time keeps them simple and costs no speed, since
        # the work inside a batch already uses all threads.
        self._lock = threading.Lock()

    @property
    def calibrated(self) -> bool:
        """Whether a phrase's probability is how often such phrases are right."""
        return self._loaded.calibrated or self._loaded.confidence is not None

    @property
    def needs_all(self) -> bool:
        """Whether the keyphrases of a document depend on all others given with it."""
        return self._loaded.window is None

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
        if wanted.precision is not None and not self.calibrated:
            raise ConfigError(
                f"{self._settings[0]} has no calibrated probabilities, which a wanted precision "
                "needs; use a model exported with --confidence, or give a calibration"
            )
        if isinstance(texts, str | Document):
            return next(self._stream([texts], wanted))
        return self._stream(texts, wanted)

    def warnings(self, document: Document) -> list[str]:
        """What speaks against trusting the keyphrases of a document, each in a few words."""
        if self._loaded.english is None or looks_english(document.text):
            return []
        return [f"does not look English; {self._loaded.english}"]

    def predict(self, documents: Iterable[Document]) -> Iterator[Prediction]:
        """Predictions, one for each document: long documents in windows, combined."""
        for _, prediction in self._predicted(documents):
            yield prediction

    def _stream(self, texts: Iterable[str | Document], wanted: Wanted) -> Iterator[list[Keyphrase]]:
        documents = (
            text if isinstance(text, Document) else Document(title="", body=text) for text in texts
        )
        for document, prediction in self._predicted(documents):
            yield wanted(self._keyphrases(document, prediction))

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
                yield document, self._joined(document, found[:count])
                del found[:count]
            prediction = next(predicted, None)
            if prediction is None:
                break
            found.append(prediction)
        for document, count in waiting:
            yield document, self._joined(document, found[:count])
            del found[:count]

    def _locked(self, documents: Iterable[Document]) -> Iterator[Prediction]:
        predicted = self._loaded.predictor.predict(documents)
        while True:
            with self._lock:
                prediction = next(predicted, None)
            if prediction is None:
                return
            yield prediction

    def _joined(self, document: Document, found: list[Prediction]) -> Prediction:
        """An empty text has no windows, and so no keyphrases."""
        if not found:
            return Prediction(document_id=document.id, phrases=())
        return self._loaded.judged(document, combine(document, found))


def _window_words(wanted: int | None, most: int | None) -> int:
    """The words of a window; one that a model does not read whole would be cut silently."""
    if wanted is None:
        return WINDOW_WORDS if most is None else min(WINDOW_WORDS, most)
    if wanted < FEWEST_WINDOW_WORDS:
        raise ConfigError(
            f"window_words is {wanted}; a window needs at least {FEWEST_WINDOW_WORDS} words"
        )
    if most is not None and wanted > most:
        raise ConfigError(f"window_words is {wanted}; this model reads at most {most} words")
    return wanted


def _in_words_of(
    vocabulary: str | Path | Terms | None, mode: Mode
) -> Callable[[Document, Prediction], list[Keyphrase]]:
    if vocabulary is None:
        return keyphrases
    return Controlled(vocabulary if isinstance(vocabulary, Terms) else Terms.load(vocabulary), mode)


def _again(
    model: str | Path,
    window_words: int | None,
    vocabulary: str | Path | Terms | None,
    vocabulary_mode: Mode,
    options: dict[str, Any],
) -> Keywright:
    return Keywright(
        model,
        window_words=window_words,
        vocabulary=vocabulary,
        vocabulary_mode=vocabulary_mode,
        **options,
    )
