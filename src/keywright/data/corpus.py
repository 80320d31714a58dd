"""The documents of a run in memory, with a digest of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice

import msgspec

from keywright.data.documents import read_documents
from keywright.types import Document


class Digest(msgspec.Struct, frozen=True):
    """SHA-256 of the documents as one JSON object per line, whatever the format of their files."""

    documents: int
    sha256: str


@dataclass(frozen=True)
class Corpus:
    documents: list[Document]
    digest: Digest


def digest(documents: Iterable[Document]) -> Digest:
    """The digest of documents, which are not kept."""
    encode = msgspec.json.Encoder().encode
    sha, count = hashlib.sha256(), 0
    for document in documents:
        sha.update(encode(document) + b"\n")
        count += 1
    return Digest(count, sha.hexdigest())


def read(paths: Sequence[str], most: int | None = None, *, need_gold: bool = True) -> Corpus:
    """The first `most` documents of the files."""
    encode = msgspec.json.Encoder().encode
    sha = hashlib.sha256()
    documents = []
    files = (read_documents(path, need_gold=need_gold) for path in paths)
    for document in islice(chain.from_iterable(files), most):
        sha.update(encode(document) + b"\n")
        documents.append(document)
    return Corpus(documents, Digest(len(documents), sha.hexdigest()))
