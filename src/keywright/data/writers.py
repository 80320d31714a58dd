"""Documents and predictions to files: complete or not at all, streamed, never silently changed.

A value that a format cannot express is an error. keywright's own JSON lines express everything;
JSON has no infinities, so that the logarithm of a probability of 0 is written as `null`. `-` writes
to the standard output.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, BinaryIO, TypeVar, cast

import msgspec

from keywright.data.pairs import find_target, target_path
from keywright.data.prediction_readers.keywright import ROUNDING
from keywright.data.readers import chan
from keywright.data.recognise import looks_like_json
from keywright.errors import DataError, UnknownNameError
from keywright.files import atomic_write
from keywright.text.tokenise import normalise
from keywright.types import Document, Prediction

STANDARD_OUTPUT = "-"
DOCUMENT_FORMATS = ("chan", "keywright", "meng")
PREDICTION_FORMATS = ("chan", "keywright")

Value = TypeVar("Value", Document, Prediction)


def write_documents(
    documents: Iterable[Document], path: str | Path, format: str = "keywright"
) -> int:
    """Write documents as `keywright` or `meng` JSON lines or as a `chan` pair; return the number.

    For `chan`, `path` is the `..._src.txt` file, and keyphrases are written to `..._trg.txt`; the
    format consists of tokenised text, so that documents that are not tokenised are normalised.
    """
    if format not in DOCUMENT_FORMATS:
        raise UnknownNameError("format to write documents in", format, DOCUMENT_FORMATS)
    if format == "chan":
        return _write_pair(documents, path)
    encode = msgspec.json.Encoder().encode if format == "keywright" else _meng
    return _write_lines(documents, encode, path)


def write_predictions(
    predictions: Iterable[Prediction], path: str | Path, format: str = "keywright"
) -> int:
    """Write predictions as `keywright` JSON lines, or their phrases as `chan` text; return their
    number."""
    if format not in PREDICTION_FORMATS:
        raise UnknownNameError("format to write predictions in", format, PREDICTION_FORMATS)
    encode = _prediction if format == "keywright" else _chan_prediction
    return _write_lines(predictions, encode, path)


def prediction_line(prediction: Prediction, number: int) -> bytes:
    """The line `number` of a file of keywright predictions, with its line end."""
    return _encoded(_prediction, prediction, number) + b"\n"


def _write_lines(
    values: Iterable[Value], encode: Callable[[Value], bytes], path: str | Path
) -> int:
    number = 0
    with _output(path) as file:
        for number, value in enumerate(values, start=1):
            file.write(_encoded(encode, value, number))
            file.write(b"\n")
    return number


def _encoded(encode: Callable[[Value], bytes], value: Value, number: int) -> bytes:
    """The line of a value; an error says which value it is."""
    try:
        return encode(value)
    except UnicodeEncodeError:
        reason = "contains half a surrogate pair, which UTF-8 cannot express"
    except DataError as error:
        reason = str(error)
    id = value.id if isinstance(value, Document) else value.document_id
    kind = type(value).__name__.lower()
    raise DataError(f"{kind} {number}{'' if id is None else f' ({id!r})'} {reason}")


@contextmanager
def _output(path: str | Path) -> Iterator[IO[bytes]]:
    if str(path) == STANDARD_OUTPUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        with atomic_write(path, "wb") as file:
            yield cast(BinaryIO, file)


class _Meng(msgspec.Struct, omit_defaults=True):
    id: str | None
    title: str
    abstract: str
    keywords: tuple[str, ...] | None = None


_encode = msgspec.json.Encoder().encode


def _meng(document: Document) -> bytes:
    return _encode(_Meng(document.id, document.title, document.body, document.keyphrases))


def _prediction(prediction: Prediction) -> bytes:
    for phrase in prediction.phrases:
        for name in ("confidence", "score"):
            value = getattr(phrase, name)
            if value is not None and not abs(value) < float("inf"):
                raise DataError(f"has a {name} that is not a number for {phrase.text!r}: {value}")
        # JSON writes -inf, inf and nan as null; only the first of them makes sense here.
        if phrase.token_log_probs and not all(p <= ROUNDING for p in phrase.token_log_probs):
            raise DataError(f"has token_log_probs above 0 or not a number for {phrase.text!r}")
    return _encode(prediction)


def _chan_prediction(prediction: Prediction) -> bytes:
    return _chan_phrases(prediction.texts)


def _chan_phrases(texts: tuple[str, ...]) -> bytes:
    line = chan.SEPARATOR.join(texts)
    if not _survives(line) or chan.split_phrases(line) != texts:
        raise DataError(
            f"has phrases that chan text cannot express: {texts!r} (a phrase must not contain ';' "
            "or a line break, and a line must not begin or end with a blank)"
        )
    return line.encode()


def _chan_source(document: Document) -> bytes:
    line = f"{document.title} {chan.BORDER} {document.body}".strip()
    if not _survives(line) or chan.split_source(line) != (document.title, document.body):
        raise DataError(
            f"has a title or body that chan text cannot express (no line break, no blank at the "
            f"ends, no {chan.BORDER} in the title): {document.title!r}"
        )
    return line.encode()


def _survives(line: str) -> bool:
    """Whether a line is read back from a text file unchanged."""
    return not ("\n" in line or "\0" in line or line.startswith("\ufeff") or looks_like_json(line))


def _write_pair(documents: Iterable[Document], path: str | Path) -> int:
    """Write source and, if the documents have keyphrases, target; both files or neither."""
    documents = iter(documents)
    first = next(documents, None)
    has_gold = first is not None and first.keyphrases is not None
    stale = find_target(path)
    if not has_gold and stale is not None:
        raise DataError("would be read as the keyphrases of these documents; move it", stale)
    number = 0
    with ExitStack() as files:
        target = files.enter_context(_output(target_path(path))) if has_gold else None
        source = files.enter_context(_output(path))
        for number, document in enumerate(chain([first] if first else [], documents), start=1):
            document = document if document.tokenised else _normalised(document)
            source.write(_encoded(_chan_source, document, number) + b"\n")
            if (document.keyphrases is not None) != has_gold:
                raise DataError(
                    f"document {number}: all documents of a pair need keyphrases, or none"
                )
            if target is not None:
                target.write(_encoded(_chan_gold, document, number) + b"\n")
    return number


def _chan_gold(document: Document) -> bytes:
    return _chan_phrases(document.keyphrases or ())


def _normalised(document: Document) -> Document:
    gold = document.keyphrases
    if gold is not None:
        gold = tuple(phrase for raw in gold if (phrase := " ".join(normalise(raw))))
    return Document(
        title=" ".join(normalise(document.title)),
        body=" ".join(normalise(document.body)),
        id=document.id,
        keyphrases=gold,
        tokenised=True,
    )
