"""The documents of a run, in memory or in a file, with a digest of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

import msgspec

from keywright.data.documents import read_documents
from keywright.data.store import store
from keywright.types import Document


class Digest(msgspec.Struct, frozen=True):
    """SHA-256 of the documents as one JSON object per line, whatever the format of their files."""

    documents: int
    sha256: str


@dataclass(frozen=True)
class Corpus:
    documents: Sequence[Document]
    digest: Digest


def digest(documents: Iterable[Document]) -> Digest:
    """The digest of documents, which are not kept."""
    encode = msgspec.json.Encoder().encode
    sha, count = hashlib.sha256(), 0
    for document in documents:
        sha.update(encode(document) + b"\n")
        count += 1
    return Digest(count, sha.hexdigest())


def read(
    paths: Sequence[str],
    most: int | None = None,
    *,
    skip: int = 0,
    in_memory: bool = True,
    need_gold: bool = True,
) -> Corpus:
    """The first `most` documents of the files after the first `skip`."""
    end = None if most is None else skip + most
    encode = msgspec.json.Encoder().encode
    sha = hashlib.sha256()

    def hashed() -> Iterator[Document]:
        files = (read_documents(path, need_gold=need_gold) for path in paths)
        for document in islice(chain.from_iterable(files), skip, end):
            sha.update(encode(document) + b"\n")
            yield document

    documents: Sequence[Document] = list(hashed()) if in_memory else store(hashed())
    return Corpus(documents, Digest(len(documents), sha.hexdigest()))
