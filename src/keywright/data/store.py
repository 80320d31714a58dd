"""Documents in a file instead of in memory: a list whose items are read when they are asked for."""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from threading import Lock
from typing import IO, overload

import msgspec

from keywright.errors import DataError
from keywright.types import Document


class Stored(Sequence[Document]):
    """Documents in a temporary file; in memory a document takes 12 bytes.

    The file has no name, so that it vanishes with the process however that ends.
    """

    def __init__(self, file: IO[bytes], lock: Lock, starts: array[int], sizes: array[int]) -> None:
        self._file = file
        self._lock = lock
        self._starts = starts
        self._sizes = sizes
        self._decode = msgspec.json.Decoder(Document).decode

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, index: int) -> Document: ...

    @overload
    def __getitem__(self, index: slice) -> Stored: ...

    def __getitem__(self, index: int | slice) -> Document | Stored:
        if isinstance(index, slice):
            return self.select(range(len(self))[index])
        with self._lock:  # batches are built by another thread than the loop's
            self._file.seek(self._starts[index])
            content = self._file.read(self._sizes[index])
        return self._decode(content)

    def __iter__(self) -> Iterator[Document]:
        return map(self.__getitem__, range(len(self)))

    def select(self, indices: Sequence[int]) -> Stored:
        """Some of the documents, in the same file."""
        starts = array("q", (self._starts[index] for index in indices))
        sizes = array("i", (self._sizes[index] for index in indices))
        return Stored(self._file, self._lock, starts, sizes)


def store(documents: Iterable[Document]) -> Stored:
    """Write documents to a temporary file (in the folder that TMPDIR names)."""
    encode = msgspec.json.Encoder().encode
    starts, sizes, place = array("q"), array("i"), 0
    file = tempfile.TemporaryFile()  # noqa: SIM115, open as long as the documents are used
    try:
        for document in documents:
            content = encode(document)
            file.write(content)
            starts.append(place)
            sizes.append(len(content))
            place += len(content)
        file.flush()
    except OSError as error:
        raise DataError(
            f"the documents cannot be stored: {error.strerror}; name a folder with more space in "
            "the variable TMPDIR",
            tempfile.gettempdir(),
        ) from None
    return Stored(file, Lock(), starts, sizes)
