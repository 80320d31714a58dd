"""Keyphrases as a spaCy component: `nlp.add_pipe("keywright", config={"top": 10})`."""

# No `from __future__ import annotations` here: spaCy checks settings against the types of `make`.
from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec

from keywright.errors import ConfigError, MissingExtraError
from keywright.generation.engine import Keywright, Selection
from keywright.generation.keyphrases import Keyphrase
from keywright.generation.vocabulary import Mode
from keywright.predictor import DEFAULT

try:
    from spacy.language import Language
    from spacy.tokens import Doc, Span
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "spacy":
        raise
    raise MissingExtraError("the spaCy component", "spacy", "spacy") from None

NAME = "keyphrases"  # of the attribute, of the span group and of the stored values
LABEL = "KEYPHRASE"


class KeyphraseComponent:
    """Sets `doc._.keyphrases`, a list of `Keyphrase`, best first, and `doc.spans["keyphrases"]`,
    the places of the present ones in text order."""

    def __init__(self, engine: Keywright, selection: Selection) -> None:
        self._engine = engine
        self._selection = selection

    def __call__(self, doc: Doc) -> Doc:
        return _marked(doc, self._engine.generate(doc.text, self._selection))

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Docs in their order; the model processes `batch_size` of them at a time."""
        docs = iter(stream)
        while batch := list(islice(docs, batch_size)):
            found = self._engine.generate([doc.text for doc in batch], self._selection)
            for doc, phrases in zip(batch, found, strict=True):
                yield _marked(doc, phrases)


def _marked(doc: Doc, phrases: list[Keyphrase]) -> Doc:
    # Plain values: Docs are sent between processes and stored in files as MessagePack.
    doc.user_data[NAME] = msgspec.to_builtins(phrases)
    doc.spans[NAME] = sorted({span for phrase in phrases for span in _spans(doc, phrase)})
    return doc


def _spans(doc: Doc, phrase: Keyphrase) -> Iterator[Span]:
    for start, end in phrase.places:
        # A spaCy token may be longer than the phrase; the span then covers the whole token.
        span = doc.char_span(start, end, LABEL, kb_id=phrase.id or "", alignment_mode="expand")
        if span is not None:
            yield span


def _stored(doc: Doc) -> list[Keyphrase] | None:
    """The keyphrases of a Doc; None if the component has not processed it."""
    return msgspec.convert(doc.user_data.get(NAME), list[Keyphrase] | None)


def _extend_docs() -> None:
    if not Doc.has_extension(NAME):
        Doc.set_extension(NAME, getter=_stored)
    elif Doc.get_extension(NAME)[2] is not _stored:
        raise ConfigError(
            f"another library has already set doc._.{NAME}; "
            f"remove it first with Doc.remove_extension({NAME!r})"
        )


@Language.factory(
    "keywright",
    assigns=[f"doc._.{NAME}", "doc.spans"],
    default_config={
        "model": DEFAULT,
        "top": None,
        "min_confidence": 0.0,
        "precision": None,
        "vocabulary": None,
        "vocabulary_mode": "only",
    },
)
def make(
    nlp: Language,
    name: str,
    model: str,
    top: int | None,
    min_confidence: float,
    precision: float | None,
    vocabulary: str | None,
    vocabulary_mode: Mode,
) -> KeyphraseComponent:
    """The factory for `nlp.add_pipe("keywright")`. A saved pipeline stores these settings, but not
    the model and vocabulary they name."""
    engine = Keywright(model, vocabulary=vocabulary, vocabulary_mode=vocabulary_mode)
    if engine.needs_all:
        raise ConfigError(
            f"{model} compares all documents with each other, but a pipeline sees them one by one; "
            "choose another model"
        )
    selection = Selection(top, min_confidence, precision=precision)
    engine.generate([], selection)  # raises an error now if the model cannot do what is selected
    _extend_docs()
    return KeyphraseComponent(engine, selection)
