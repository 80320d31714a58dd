"""What requests and answers look like; the OpenAPI description is made from these."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from keywright.errors import KeywrightError
from keywright.generation.engine import Wanted
from keywright.generation.keyphrases import Keyphrase
from keywright.serving.limits import Limits
from keywright.serving.refusal import RefusalError, too_long
from keywright.sources import text as plain_text
from keywright.types import Document

# As in `keywright generate`: a long document has more phrases than anybody reads.
TOP = 20
LONGEST_QUOTE = 200


class DocumentIn(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A document: its `text`, whose first line may be a title, or `title` and `body`."""

    id: Annotated[str, Meta(max_length=200)] | None = None
    text: str | None = None
    title: str | None = None
    body: str | None = None


class Options(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which keyphrases are wanted; as the options of `keywright generate`."""

    top: Annotated[int, Meta(ge=0, le=1_000_000, description="At most so many; 0: all.")] = TOP
    min_confidence: Annotated[float, Meta(ge=0, le=1)] = 0.0
    precision: Annotated[float, Meta(gt=0, le=1)] | None = None
    present_only: bool = False
    absent_only: bool = False


class Ask(Options, forbid_unknown_fields=True, kw_only=True):
    """One document, or many in `documents`, and what is wanted of them."""

    id: Annotated[str, Meta(max_length=200)] | None = None
    text: str | None = None
    title: str | None = None
    body: str | None = None
    documents: Annotated[list[str | DocumentIn], Meta(min_length=1)] | None = None


class KeyphraseOut(msgspec.Struct, kw_only=True):
    """`places` are the code points [start, end) of the document's `text`."""

    text: str
    probability: float | None
    present: bool
    places: tuple[tuple[int, int], ...]
    evidence: str | None


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
        message = f"The request does not fit: {brief(error)}."
        raise RefusalError(422, "invalid_request", message) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        message = f"The body is not JSON in UTF-8: {brief(error)}."
        raise RefusalError(400, "invalid_json", message) from None


def brief(error: Exception) -> str:
    """What is wrong in one short line: it may quote a name of any length, in any characters."""
    shown = "".join(char if char.isprintable() else " " for char in str(error))
    return shown if len(shown) <= LONGEST_QUOTE else f"{shown[:LONGEST_QUOTE]}…"


def documents(ask: Ask, limits: Limits) -> list[Document]:
    """The documents asked about, none of them empty and together not too long."""
    single = DocumentIn(id=ask.id, text=ask.text, title=ask.title, body=ask.body)
    if ask.documents is None:
        given: list[str | DocumentIn] = [single]
    elif single == DocumentIn():
        given = ask.documents
    else:
        raise RefusalError(
            422, "invalid_request", "Give one document, or `documents`; both were given."
        )
    if len(given) > limits.documents:
        raise RefusalError(
            413,
            "too_many_documents",
            f"The request has {len(given)} documents; at most {limits.documents} are allowed.",
        )
    stripped = [_stripped(one) for one in given]
    # Before anything looks at the text: other requests wait meanwhile.
    characters = sum(
        len(part or "") for one in stripped for part in (one.text, one.title, one.body)
    )
    if characters > limits.characters:
        raise too_long(characters, limits.characters)
    return [_document(one, number) for number, one in enumerate(stripped, 1)]


def _stripped(given: str | DocumentIn) -> DocumentIn:
    def strip(part: str | None) -> str | None:
        return None if part is None else part.strip()

    if isinstance(given, str):
        return DocumentIn(text=given.strip())
    return DocumentIn(
        id=given.id, text=strip(given.text), title=strip(given.title), body=strip(given.body)
    )


def _document(one: DocumentIn, number: int) -> Document:
    parts = one.title is not None or one.body is not None
    if (one.text is None) != parts:
        raise RefusalError(
            422,
            "invalid_request",
            f"Document {number} must have `text`, or `title` and `body`, and not both.",
        )
    if one.text is not None:
        # A name is needed for messages only; the id may well be unknown.
        made = msgspec.structs.replace(plain_text.document(one.text, ""), id=one.id)
    else:
        made = Document(id=one.id, title=one.title or "", body=one.body or "")
    if not made.text.strip():
        raise RefusalError(422, "empty_text", f"Document {number} has no text.")
    return made


def wanted(options: Options, calibrated: bool) -> Wanted:
    if options.precision is not None and not calibrated:
        raise RefusalError(
            422,
            "no_probabilities",
            "This model has no calibrated probabilities, which `precision` needs.",
        )
    try:
        return Wanted(
            options.top or None,
            options.min_confidence,
            not options.absent_only,
            not options.present_only,
            options.precision,
        )
    except KeywrightError as error:
        raise RefusalError(422, "invalid_request", f"{error}.") from None


def shown(document: Document, found: list[Keyphrase], warnings: list[str]) -> DocumentOut:
    return DocumentOut(
        id=document.id,
        title=document.title,
        text=document.text,
        keyphrases=[
            KeyphraseOut(
                text=one.text,
                probability=one.probability,
                present=one.present,
                places=one.places,
                evidence=one.evidence,
            )
            for one in found
        ],
        warnings=warnings,
    )
