"""The types of requests and answers; the OpenAPI description is generated from them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import msgspec
from msgspec import Meta

from keywright.errors import KeywrightError
from keywright.files import NOT_JSON
from keywright.generation.engine import Selection
from keywright.generation.keyphrases import Keyphrase
from keywright.serving.limits import Limits
from keywright.serving.refusal import RefusalError, too_long
from keywright.sources import text as plain_text
from keywright.types import Document

MAX_QUOTE = 200
MAX_TERM = 200  # characters


class DocumentIn(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A document: either `text`, whose first line may be a title, or `title` and `body`."""

    id: Annotated[str, Meta(max_length=200)] | None = None
    text: str | None = None
    title: str | None = None
    body: str | None = None


class Options(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which keyphrases to return; the same options as in `keywright generate`."""

    top: (
        Annotated[
            int,
            Meta(
                ge=0,
                le=1_000_000,
                description="At most this many per document (0 = all); by default the number "
                "follows from the document.",
            ),
        ]
        | None
    ) = None
    min_confidence: Annotated[float, Meta(ge=0, le=1)] = 0.0
    precision: Annotated[float, Meta(gt=0, le=1)] | None = None
    present_only: bool = False
    absent_only: bool = False


class Ask(Options, forbid_unknown_fields=True, kw_only=True):
    """One document, or several in `documents`, and which keyphrases to return."""

    id: Annotated[str, Meta(max_length=200)] | None = None
    text: str | None = None
    title: str | None = None
    body: str | None = None
    documents: Annotated[list[str | DocumentIn], Meta(min_length=1)] | None = None
    vocabulary: (
        Annotated[
            list[Annotated[str, Meta(max_length=MAX_TERM)]],
            Meta(min_length=1, description="Only these terms are returned, in this spelling."),
        ]
        | None
    ) = None


class KeyphraseOut(msgspec.Struct, kw_only=True, omit_defaults=True):
    """`places` are [start, end) offsets into the document's `text`, in code points.

    `stated` keyphrases are listed as keywords by the document itself; `id` is that of a
    vocabulary's term.
    """

    text: str
    probability: float | None
    present: bool
    places: tuple[tuple[int, int], ...]
    evidence: str | None
    stated: bool
    id: str | None = None


class DocumentOut(msgspec.Struct, kw_only=True):
    id: str | None
    title: str
    text: str
    keyphrases: list[KeyphraseOut]
    warnings: list[str]


class Answer(msgspec.Struct, kw_only=True):
    documents: list[DocumentOut]
    model: str


class Model(msgspec.Struct, kw_only=True):
    name: str
    calibrated: bool


class Models(msgspec.Struct, kw_only=True):
    models: list[Model]


class Status(msgspec.Struct, kw_only=True):
    status: str


class ErrorDetail(msgspec.Struct, kw_only=True):
    code: str
    message: str


class ErrorAnswer(msgspec.Struct, kw_only=True):
    error: ErrorDetail


def parse(body: bytes) -> Ask:
    try:
        return msgspec.json.decode(body, type=Ask)
    except msgspec.ValidationError as error:
        message = f"The request is invalid: {brief(error)}."
        raise RefusalError(422, "invalid_request", message) from None
    except NOT_JSON as error:
        message = f"The body is not valid JSON in UTF-8: {brief(error)}."
        raise RefusalError(400, "invalid_json", message) from None


def brief(error: Exception) -> str:
    """An error as one short printable line: it may quote names of any length and characters."""
    line = "".join(char if char.isprintable() else " " for char in str(error))
    return line if len(line) <= MAX_QUOTE else f"{line[:MAX_QUOTE]}…"


def documents(ask: Ask, limits: Limits) -> list[Document]:
    """The documents of a request; none is empty, and together they are not too long."""
    single = DocumentIn(id=ask.id, text=ask.text, title=ask.title, body=ask.body)
    if ask.documents is None:
        given: list[str | DocumentIn] = [single]
    elif single == DocumentIn():
        given = ask.documents
    else:
        raise RefusalError(
            422, "invalid_request", "Give one document or `documents`; both were given."
        )
    if len(given) > limits.documents:
        raise RefusalError(
            413,
            "too_many_documents",
            f"The request has {len(given)} documents; at most {limits.documents} are allowed.",
        )
    stripped = [_stripped(document) for document in given]
    # Checked before the texts are processed, because other requests wait meanwhile.
    characters = sum(
        len(part or "")
        for document in stripped
        for part in (document.text, document.title, document.body)
    )
    if characters > limits.characters:
        raise too_long(characters, limits.characters)
    return [_document(document, number) for number, document in enumerate(stripped, 1)]


def terms(given: Iterable[str] | None, limits: Limits) -> tuple[str, ...]:
    """The terms of a vocabulary, each once; none if no vocabulary is given."""
    if given is None:
        return ()
    found: dict[str, str] = {}
    for name in given:
        if tidy := " ".join(name.split()):
            # Names that differ in capitals only would be ambiguous, and match nothing.
            found.setdefault(tidy.casefold(), tidy)
    if not found:
        raise RefusalError(422, "invalid_request", "The vocabulary contains no terms.")
    if len(found) > limits.terms:
        message = f"The vocabulary has {len(found):,} terms; at most {limits.terms:,} are allowed."
        raise RefusalError(413, "too_many_terms", message)
    if (longest := max(map(len, found.values()))) > MAX_TERM:
        message = f"A term has {longest:,} characters; at most {MAX_TERM} are allowed."
        raise RefusalError(422, "invalid_request", message)
    return tuple(found.values())


def _stripped(given: str | DocumentIn) -> DocumentIn:
    def strip(part: str | None) -> str | None:
        return None if part is None else part.strip()

    if isinstance(given, str):
        return DocumentIn(text=given.strip())
    return DocumentIn(
        id=given.id, text=strip(given.text), title=strip(given.title), body=strip(given.body)
    )


def _document(given: DocumentIn, number: int) -> Document:
    has_parts = given.title is not None or given.body is not None
    if (given.text is None) != has_parts:
        raise RefusalError(
            422,
            "invalid_request",
            f"Document {number} must have `text`, or `title` and `body`, but not both.",
        )
    if given.text is not None:
        # The name is only used in messages; the id may be None.
        document = msgspec.structs.replace(plain_text.document(given.text, ""), id=given.id)
    else:
        document = Document(id=given.id, title=given.title or "", body=given.body or "")
    if not document.text.strip():
        raise RefusalError(422, "empty_text", f"Document {number} has no text.")
    return document


def selection(options: Options, calibrated: bool) -> Selection:
    if options.precision is not None and not calibrated:
        raise RefusalError(
            422,
            "no_probabilities",
            "`precision` needs calibrated probabilities, which this model does not have.",
        )
    try:
        return Selection(
            options.top,
            options.min_confidence,
            not options.absent_only,
            not options.present_only,
            options.precision,
        )
    except KeywrightError as error:
        raise RefusalError(422, "invalid_request", f"{error}.") from None


def document_out(document: Document, found: list[Keyphrase], warnings: list[str]) -> DocumentOut:
    return DocumentOut(
        id=document.id,
        title=document.title,
        text=document.text,
        keyphrases=[
            KeyphraseOut(
                text=phrase.text,
                probability=phrase.probability,
                present=phrase.present,
                places=phrase.places,
                evidence=phrase.evidence,
                stated=phrase.stated,
                id=phrase.id,
            )
            for phrase in found
        ],
        warnings=warnings,
    )
