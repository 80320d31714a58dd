"""The documents of a run, in memory, with a fingerprint of what was read."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice

import msgspec

from keywright.data.documents import read_documents
from keywright.types import Document


class Digest(msgspec.Struct, frozen=True):
    """SHA-256 of the documents as read, one JSON object a line: packing does not count."""

    documents: int
    sha256: str


@dataclass(frozen=True)
class Corpus:
    documents: list[Document]
    digest: Digest


def read(paths: Sequence[str], most: int | None = None) -> Corpus:
    """The first `most` documents of the files."""
    encode = msgspec.json.Encoder().encode
    sha = hashlib.sha256()
    documents = []
    files = (read_documents(path, need_gold=True) for path in paths)
    for document in islice(chain.from_iterable(files), most):
        sha.update(encode(document) + b"\n")
        documents.append(document)
    return Corpus(documents, Digest(len(documents), sha.hexdigest()))
