"""`Keywright`: texts in, keyphrases out."""

from __future__ import annotations

import atexit
import copy
import shutil
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypedDict, Unpack, overload

import msgspec

from keywright.errors import ConfigError, nearest
from keywright.generation.found import Keyphrases
from keywright.generation.keyphrases import Choice, Keyphrase, keyphrases
from keywright.generation.language import language_of
from keywright.generation.vocabulary import Controlled, Mode
from keywright.generation.whole import as_a_whole
from keywright.generation.windows import combine, windows
from keywright.predictor import DEFAULT, LoadedModel, load
from keywright.ranking.model import SURE_ABSENT, expected_count
from keywright.sources import text as plain_text
from keywright.text.languages import ENGLISH, NAMES
from keywright.text.markup import Place, original_places, readable
from keywright.types import Document, Prediction
from keywright.vocabularies.terms import Terms

# About the length of the documents that models are trained on; longer ones are split into windows.
# A model that says how many words of a document it reads at once gets windows of this length.
WINDOW_WORDS = 300
FEWEST_WINDOW_WORDS = 20
MOST_UNASKED = 20


@dataclass(frozen=True)
class Selection:
    """Which of a document's keyphrases to return.

    `top` is the largest number of keyphrases (0 = all). Without `top`, `min_confidence` and
    `precision` the number follows from the document: the keyphrases that the model recommends, and
    more of the present ones if readers expect more of a text of this length.

    `precision` keeps the longest list of best keyphrases whose expected precision, the mean of
    their calibrated probabilities, is at least this. It holds for every document, and therefore for
    any collection of documents; a document without sufficiently probable keyphrases gets none.
    """

    top: int | None = None
    min_confidence: float = 0.0
    present: bool = True
    absent: bool = True
    precision: float | None = None

    def __post_init__(self) -> None:
        if self.top is not None and self.top < 0:
            raise ConfigError(f"top is {self.top}; it must be at least 1, or 0 for all")
        if not 0 <= self.min_confidence <= 1:
            raise ConfigError(
                f"min_confidence is {self.min_confidence}; it must be between 0 and 1"
            )
        if self.precision is not None and not 0 < self.precision <= 1:
            raise ConfigError(
                f"precision is {self.precision}; it must be greater than 0 and at most 1"
            )
        if not self.present and not self.absent:
            raise ConfigError(
                "present and absent keyphrases are both excluded; allow at least one kind"
            )

    @property
    def automatic(self) -> bool:
        """Whether the number of keyphrases follows from the document."""
        return self.top is None and not self.min_confidence and self.precision is None

    def __call__(self, found: Iterable[Keyphrase], words: int) -> list[Keyphrase]:
        """Select from all keyphrases, best first, of a document with this many words."""
        kept = [keyphrase for keyphrase in found if self._allows(keyphrase)]
        if self.automatic:
            return _suitable(kept, expected_count(words))
        return kept[: self._precise(kept)][: self.top or None]

    def _allows(self, keyphrase: Keyphrase) -> bool:
        if not (self.present if keyphrase.present else self.absent):
            return False
        # Without a probability there is nothing to compare.
        return keyphrase.probability is None or keyphrase.probability >= self.min_confidence

    def _precise(self, best_first: Sequence[Keyphrase]) -> int | None:
        """How many of the best have a mean probability of at least `precision` (None = all)."""
        if self.precision is None:
            return None
        total, enough = 0.0, 0
        for count, keyphrase in enumerate(best_first, 1):
            if keyphrase.probability is None:
                break
            total += keyphrase.probability
            # The mean never rises again. Rounding errors must not end the list too early.
            if total / count >= self.precision - 1e-9:
                enough = count
        return enough


def _suitable(best_first: Sequence[Keyphrase], expected: int) -> list[Keyphrase]:
    """The recommended keyphrases, and the next best present ones up to the expected number."""
    missing = expected - sum(phrase.recommended and phrase.present for phrase in best_first)
    chosen = []
    for phrase in best_first:
        if phrase.present:
            wanted = phrase.recommended or missing > 0
            missing -= wanted and not phrase.recommended
        else:
            sure = phrase.probability is None or phrase.probability >= SURE_ABSENT
            wanted = phrase.recommended and sure
        if wanted:
            chosen.append(phrase)
    return chosen[:MOST_UNASKED]


class Options(TypedDict, total=False):
    """Which keyphrases to return, as keywords; they have the names of the command line's options.

    `top`, `min_confidence` and `precision` mean the same as those of `Selection`;
    `min_probability` is another name of `min_confidence`.
    """

    top: int | None
    min_confidence: float
    min_probability: float
    precision: float | None
    present_only: bool
    absent_only: bool


def selection_of(given: Selection | None, options: Options) -> Selection:
    """The selection that is given as such or by options."""
    unknown = options.keys() - Options.__annotations__.keys()
    if unknown:
        known = sorted(Options.__annotations__)
        raise TypeError(f"unknown option {min(unknown)!r}{nearest(min(unknown), known)}")
    if given is not None:
        if options:
            raise ConfigError(
                f"{', '.join(sorted(options))}: give a selection or such options, not both"
            )
        return given
    return Selection(
        top=options.get("top"),
        min_confidence=options.get("min_confidence", options.get("min_probability", 0.0)),
        present=not options.get("absent_only", False),
        absent=not options.get("present_only", False),
        precision=options.get("precision"),
    )


class Keywright:
    """Generates keyphrases for texts.

    `model` is what `keywright.predictor.load` accepts: "default" for the model that comes with the
    package, the folder of another, or the name of an extractor such as "textrank". One object can
    be shared by threads; when it is unpickled, it loads its model again. With a `vocabulary` (a
    file or `Terms`) keyphrases are its terms, all of which are scored for every text if the model
    is a ranker, as the default one is; see docs/vocabularies.md.

        kw = Keywright()
        kw.generate("Heat pumps in old houses ...", top=5)      # Keyphrases, a list of Keyphrase
        kw.generate(["Heat pumps ...", "Drag sails ..."])       # a list of such lists
        for found in kw.stream(read_texts()): ...               # of any number of texts, in order
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
        terms = Terms.load(vocabulary) if isinstance(vocabulary, str | Path) else vocabulary
        self._loaded: LoadedModel = load(model, **options)
        if terms is not None:
            self._loaded = self._loaded.with_terms(name for term in terms for name in term.names)
        self._keyphrases = _mapping(terms, vocabulary_mode, self._loaded)
        self._window_words = _window_words(window_words, self._loaded.most_words)
        # Predictors need not be safe for threads. One batch at a time costs no speed, because the
        # work inside a batch already uses all cores.
        self._lock = threading.Lock()

    def with_vocabulary(self, vocabulary: Terms, vocabulary_mode: Mode = "only") -> Keywright:
        """The same model with another vocabulary. It is shared and not loaded again."""
        made = copy.copy(self)
        model, window_words, _, _, options = self._settings
        made._settings = (model, window_words, vocabulary, vocabulary_mode, options)
        made._loaded = self._loaded.with_terms(name for term in vocabulary for name in term.names)
        made._keyphrases = _mapping(vocabulary, vocabulary_mode, made._loaded)
        return made

    @property
    def calibrated(self) -> bool:
        """Whether probabilities are calibrated: a phrase with 0.4 is right in 40% of cases."""
        return self._loaded.calibrated or self._loaded.confidence is not None

    @property
    def needs_all(self) -> bool:
        """Whether the keyphrases of a document depend on all documents given with it."""
        return self._loaded.window is None

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, self._settings

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything that the model's predictions depend on besides the documents."""
        return self._loaded.settings

    @overload
    def generate(  # type: ignore[overload-overlap]  # a str is an iterable of str, too
        self, texts: str | Document, selection: Selection | None = ..., **options: Unpack[Options]
    ) -> Keyphrases: ...

    @overload
    def generate(
        self,
        texts: Iterable[str | Document | None],
        selection: Selection | None = ...,
        **options: Unpack[Options],
    ) -> list[Keyphrases]: ...

    def generate(
        self,
        texts: str | Document | Iterable[str | Document | None],
        selection: Selection | None = None,
        **options: Unpack[Options],
    ) -> Keyphrases | list[Keyphrases]:
        """The keyphrases of one text, or a list with those of each of several texts, best first.

        Several texts may be a list or a series of pandas or polars, for example; a missing value
        (None, NaN) has no keyphrases. Which keyphrases to return is given by a `Selection`, or by
        the keywords `top`, `min_confidence`, `precision`, `present_only` and `absent_only`.

            kw.generate(text, top=5, present_only=True, min_confidence=0.2)
            frame["keyphrases"] = kw.generate(frame["abstract"])
        """
        if isinstance(texts, str | Document):
            return next(self.stream([texts], selection, **options))
        return list(self.stream(texts, selection, **options))

    def stream(
        self,
        texts: Iterable[str | Document | None],
        selection: Selection | None = None,
        **options: Unpack[Options],
    ) -> Iterator[Keyphrases]:
        """The keyphrases of each text, in order; texts are read when they are needed.

        For more texts than fit into memory. The options are those of `generate`.
        """
        chosen = selection_of(selection, options)
        if chosen.precision is not None and not self.calibrated:
            raise ConfigError(
                f"{self._settings[0]} has no calibrated probabilities, which precision requires; "
                "use a model exported with --confidence, or give a calibration"
            )
        if isinstance(texts, str | bytes | Path | Document) or hasattr(texts, "columns"):
            raise TypeError(
                f"texts is a {type(texts).__name__}; give a list, a column of a table, or another "
                "iterable of texts"
            )
        return self._stream(texts, chosen)

    @classmethod
    def adapt(
        cls,
        documents: Iterable[Document],
        output: str | Path | None = None,
        *,
        model: str | Path = DEFAULT,
        report: Callable[[str], None] | None = None,
    ) -> Keywright:
        """A model adapted to your own documents and their keyphrases; see docs/adapting.md.

        It is written to the new folder `output`, or to a temporary one that lasts as long as this
        process. `report` is called with lines of text about the progress and with cross-validated
        scores before and after.

            kw = Keywright.adapt(documents, "my-model", report=print)
            kw = Keywright("my-model")  # later
        """
        # Imported here, because generating keyphrases does not need it.
        from keywright.adaptation.adapt import adapt

        if isinstance(documents, str | Path):
            raise ConfigError("documents is a path; read it with keywright.data.documents first")
        if output is None:
            output = Path(_temporary()) / "adapted"
        report = report or (lambda text: None)
        for line in adapt(documents, output, model, report).lines():
            report(line)
        return cls(output)

    def warnings(self, document: str | Document) -> list[str]:
        """Reasons to doubt the keyphrases of a document or text, each in a few words."""
        document = _readable(_document(document) if isinstance(document, str) else document)
        if self._loaded.english is not None:
            language = self._language(document)
            if language != ENGLISH:
                return [self._other_language(language)]
        if self._loaded.is_familiar is not None and not self._loaded.is_familiar(document):
            return ["is unlike the texts this model learned from: probabilities are rough"]
        return []

    def _other_language(self, language: str | None) -> str:
        if self._loaded.elsewhere is None:
            return f"does not look English; {self._loaded.english}"
        name = f"is in {NAMES[language]}" if language else "is in a language that is not known"
        return (
            f"{name}; {self._loaded.english}, so phrases of the text are ranked by frequency and "
            "place, without probabilities"
        )

    def _is_elsewhere(self, document: Document) -> bool:
        """Whether another predictor reads a document, because of its language."""
        elsewhere = self._loaded.elsewhere is not None
        return elsewhere and self._language(document) != ENGLISH

    def _language(self, document: Document) -> str | None:
        """The language of a document; that of lists and notes is told by the words they have."""
        found = language_of(document.text)
        if found is None and self._loaded.knows_words is not None:
            return ENGLISH if self._loaded.knows_words(document) else None
        return found

    def predict(self, documents: Iterable[Document]) -> Iterator[Prediction]:
        """One prediction per document; those of a long document's windows are combined."""
        for _, prediction in self._predicted(documents):
            yield prediction

    def _stream(
        self, texts: Iterable[str | Document | None], selection: Selection
    ) -> Iterator[Keyphrases]:
        given: deque[tuple[Document, str | None]] = deque()

        def documents() -> Iterator[Document]:
            for number, text in enumerate(texts):
                known = _checked(text, number)
                document = known if isinstance(known, Document) else _document(known)
                given.append((document, known if isinstance(known, str) else None))
                yield _readable(document)

        for document, prediction in self._predicted(documents()):
            choose = partial(selection, words=word_count(document))
            selected = self._keyphrases(document, prediction, choose)
            yield _placed(selected, document, *given.popleft())

    def _predicted(self, documents: Iterable[Document]) -> Iterator[tuple[Document, Prediction]]:
        """Every document with its prediction; batches mix windows of several documents."""
        waiting: deque[tuple[Document, int]] = deque()

        def pieces() -> Iterator[Document]:
            for document in documents:
                readable = document.text.strip() and not self._is_elsewhere(document)
                cut = windows(document, self._words_of_windows(document)) if readable else []
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

    def _words_of_windows(self, document: Document) -> int:
        if self._window_words is not None:
            return self._window_words
        if self._loaded.words_read is not None:
            return self._loaded.words_read(document)
        most = self._loaded.most_words
        return WINDOW_WORDS if most is None else min(WINDOW_WORDS, most)

    def _locked(self, documents: Iterable[Document]) -> Iterator[Prediction]:
        predicted = self._loaded.predictor.predict(documents)
        while True:
            with self._lock:
                prediction = next(predicted, None)
            if prediction is None:
                return
            yield prediction

    def _joined(self, document: Document, found: list[Prediction]) -> Prediction:
        """The prediction for a document from those of its windows; an empty text has none."""
        if found:
            return self._loaded.judged(document, self._combined(document, found))
        if self._loaded.elsewhere is not None and document.text.strip():
            return next(iter(self._loaded.elsewhere.predict([document])))
        return Prediction(document_id=document.id, phrases=())

    def _combined(self, document: Document, found: Sequence[Prediction]) -> Prediction:
        if not self._loaded.calibrated:
            return combine(document, found)
        vocabulary = self._settings[2]
        return as_a_whole(document, found, recount=vocabulary is None)


def word_count(document: Document) -> int:
    """The length of a document, on which the number of its keyphrases depends."""
    return len(document.text.split())


def _checked(text: object, number: int) -> str | Document:
    """A text; that of a missing value is empty."""
    if isinstance(text, str | Document):
        return text
    # NaN is not equal to itself; pandas has missing values that cannot be compared at all.
    if text is None or type(text).__name__ in ("NAType", "NaTType") or text != text:
        return ""
    raise TypeError(f"texts[{number}] is of type {type(text).__name__}, not a text or a Document")


def _document(text: str) -> Document:
    """The document of a text, as if read from a file: its first line may be the title."""
    return msgspec.structs.replace(plain_text.document(text, ""), id=None)


def _readable(document: Document) -> Document:
    """A document as people see it; texts that were tokenised in advance are left as they are."""
    if document.tokenised:
        return document
    title, body = readable(document.title), readable(document.body)
    return msgspec.structs.replace(document, title=title, body=body)


def _placed(
    found: Sequence[Keyphrase], seen: Document, document: Document, text: str | None
) -> Keyphrases:
    """The keyphrases of a readable document with their places in what was given.

    That is a document, or the `text` it was made from.
    """
    title, body = _starts(document) if text is None else _starts_in(text, document)
    end, begin = len(seen.title), _starts(seen)[1]
    in_title, in_body = _origins(document)

    def place(given: Place) -> Place:
        if given[1] <= end:
            return _moved(in_title(given), title)
        return _moved(in_body(_moved(given, -begin)), body)

    moved = (
        msgspec.structs.replace(phrase, places=tuple(map(place, phrase.places))) for phrase in found
    )
    return Keyphrases(moved, document.text if text is None else text)


def _origins(document: Document) -> tuple[Callable[[Place], Place], Callable[[Place], Place]]:
    """Where places of the readable title and body are in those that were given."""
    if document.tokenised:
        return (lambda place: place), (lambda place: place)
    return original_places(document.title), original_places(document.body)


def _starts(document: Document) -> tuple[int, int]:
    """Where title and body begin in a document's text."""
    return 0, len(document.text) - len(document.body)


def _starts_in(text: str, document: Document) -> tuple[int, int]:
    """Where title and body begin in the text from which the document was made."""
    title = len(text) - len(text.lstrip())
    return title, len(text.rstrip()) - len(document.body)  # the body ends where the text does


def _moved(place: Place, by: int) -> Place:
    return place[0] + by, place[1] + by


def _temporary() -> str:
    """A new folder that is removed when the process ends."""
    folder = tempfile.mkdtemp(prefix="keywright-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _window_words(given: int | None, most: int | None) -> int | None:
    """The words of a window, at most as many as the model reads; None if the model chooses."""
    if given is None:
        return None
    if given < FEWEST_WINDOW_WORDS:
        raise ConfigError(
            f"window_words is {given}; a window needs at least {FEWEST_WINDOW_WORDS} words"
        )
    if most is not None and given > most:
        raise ConfigError(f"window_words is {given}; this model reads at most {most} words")
    return given


def _mapping(
    terms: Terms | None, mode: Mode, loaded: LoadedModel
) -> Callable[[Document, Prediction, Choice], list[Keyphrase]]:
    if terms is None:
        return partial(keyphrases, direction=loaded.direction)
    return Controlled(terms, mode)


def _restored(
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
