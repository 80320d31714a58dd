"""Words <-> ids, with a per-document extension for words that only the source knows.

Ids 0 .. V - 1 are the vocabulary; ids V, V + 1, ... are the unknown words of one document in order
of first occurrence, so that a model can copy a word it has never seen. The *output space* of a
document is both together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Protocol, Self, cast

import msgspec

from keywright.errors import DataError
from keywright.files import atomic_write, open_binary
from keywright.text.tokenise import document_words, words
from keywright.types import Document

PAD, BOS, EOS, UNK, SEP, PEOS, NULL = range(7)
SPECIALS = ("<pad>", "<bos>", "<eos>", "<unk>", "<sep>", "<peos>", "<null>")
BLANK = SPECIALS[PAD]
"""Stands in a text where something was taken out (see `data.kpdrop`)."""


@dataclass(frozen=True)
class EncodedSource:
    """A document as a model reads it. There is at least one position, whatever the document."""

    ids: Sequence[int]  # [S] for the encoder's embedding
    extended: Sequence[int]  # [S] in the output space
    title_length: int  # how many leading positions are the title
    extension: tuple[str, ...]  # the words behind ids V, V + 1, ...
    extension_inputs: Sequence[int]  # [X] ids for the encoder's embedding of those words


class Lexicon(Protocol):
    """What batches, models and decoders need of a vocabulary, of words or of subwords."""

    @property
    def size(self) -> int:
        """V: the ids that can be produced without copying, specials included."""

    @property
    def input_size(self) -> int:
        """The ids that `EncodedSource.ids` can hold."""

    @property
    def input_ids(self) -> Sequence[int]:
        """[V]: what to read for each id of the vocabulary, to embed a generated token."""

    def encode_document(self, document: Document, max_source: int | None) -> EncodedSource:
        """The first `max_source` tokens; `<unk>` and `BLANK` in the text are those specials."""

    def encode_phrase(self, words: Sequence[str], extension: Sequence[str]) -> list[int]:
        """Ids of the output space; `<unk>` for what is neither known nor in the extension."""

    def decode(self, ids: Iterable[int], extension: Sequence[str]) -> list[str]:
        """The words that ids of the output space spell; specials are spelled `<unk>` and so on."""

    def save(self, path: str | Path) -> None: ...


class _File(msgspec.Struct, forbid_unknown_fields=True):
    kind: str
    words: list[str]


class Vocabulary:
    """The most frequent words. Its ids are read and written alike."""

    KIND = "words"

    def __init__(self, words: Sequence[str]):
        """`words` in the order of their ids, specials left out."""
        self.words = (*SPECIALS, *words)
        # Specials are not looked up: a text that says "<eos>" must not end anything. Only unknown
        # words and blanks mean in a text what they mean here.
        self._ids = {word: len(SPECIALS) + i for i, word in enumerate(words)}
        if len(self._ids) != len(words) or not self._ids.keys().isdisjoint(SPECIALS):
            raise ValueError("vocabulary words must be distinct and none may be special")
        self._ids |= {SPECIALS[UNK]: UNK, BLANK: PAD}

    @property
    def size(self) -> int:
        return len(self.words)

    @property
    def input_size(self) -> int:
        return len(self.words)

    @property
    def input_ids(self) -> Sequence[int]:
        return range(len(self.words))

    @classmethod
    def build(cls, documents: Iterable[Document], size: int) -> Self:
        """The most frequent words of texts and keyphrases: `size` ids, specials included.

        Equally frequent words enter in alphabetical order, so that the order of documents does
        not matter.
        """
        counts: Counter[str] = Counter()
        for document in documents:
            counts.update(chain(*document_words(document)))
            for phrase in document.keyphrases or ():
                counts.update(words(phrase, document.tokenised))
        for special in SPECIALS:
            counts.pop(special, None)
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        return cls([word for word, _ in ranked[: max(0, size - len(SPECIALS))]])

    def encode_document(self, document: Document, max_source: int | None) -> EncodedSource:
        title, body = document_words(document)
        source = [*title, *body][:max_source] or [SPECIALS[UNK]]
        lookup = self._ids.get
        extension: dict[str, int] = {}
        extended = []
        for word in source:
            known = lookup(word)
            extended.append(
                extension.setdefault(word, self.size + len(extension)) if known is None else known
            )
        return EncodedSource(
            ids=[lookup(word, UNK) for word in source],
            extended=extended,
            title_length=min(len(title), len(source)),
            extension=tuple(extension),
            extension_inputs=[UNK] * len(extension),
        )

    def encode_phrase(self, words: Sequence[str], extension: Sequence[str]) -> list[int]:
        return [self._output_id(word, extension) for word in words]

    def _output_id(self, word: str, extension: Sequence[str]) -> int:
        known = self._ids.get(word)
        if known is not None:
            return known
        return self.size + extension.index(word) if word in extension else UNK

    def decode(self, ids: Iterable[int], extension: Sequence[str]) -> list[str]:
        return [self.words[i] if i < self.size else extension[i - self.size] for i in ids]

    def save(self, path: str | Path) -> None:
        content = _File(kind=self.KIND, words=list(self.words[len(SPECIALS) :]))
        with atomic_write(path, "wb") as file:
            cast(IO[bytes], file).write(msgspec.json.encode(content))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        with open_binary(path) as file:
            content = file.read()
        try:
            loaded = msgspec.json.decode(content, type=_File)
            if loaded.kind != cls.KIND:
                raise DataError(f"is a vocabulary of {loaded.kind}, not of {cls.KIND}", path)
            return cls(loaded.words)
        except (msgspec.DecodeError, ValueError) as error:
            raise DataError(f"is not a vocabulary: {error}", path) from None
