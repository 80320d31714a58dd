"""The vocabulary of a model: tokens <-> ids, with a per-document extension for copied tokens.

Ids 0 .. V - 1 are the vocabulary. Ids V, V + 1, ... are the tokens that only the source of one
document contains, in order of first occurrence, so that a model can copy a word it has never seen.
The *output space* of a document is both together.

Each file of `keywright.lexicons` is one kind of vocabulary. It exposes

- `Config`, a frozen dataclass: the settings of `[data.vocabulary]`;
- `build(config, documents)`, which returns a `Lexicon`;
- `Content`, a type that msgspec can write to and read from JSON, and `restore(content)`, which
  returns the `Lexicon` whose `content()` it was. It raises `ValueError` for content that does not
  make sense.

Saving and loading are written once, here: the file of a vocabulary says which kind it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol, cast

import msgspec

from keywright import config, parts
from keywright.errors import DataError, UnknownNameError
from keywright.files import NOT_JSON, atomic_write, read_bytes
from keywright.types import Document

PACKAGE = "keywright.lexicons"
NOUN = "vocabulary"
PAD, BOS, EOS, UNK, SEP, PEOS, NULL = range(7)
SPECIALS = ("<pad>", "<bos>", "<eos>", "<unk>", "<sep>", "<peos>", "<null>")
"""The special tokens of the vocabularies that keywright builds itself, by their ids."""
BLANK = SPECIALS[PAD]
"""Replaces a phrase that was removed from a text (see `data.kpdrop`)."""
MAX_BYTES = 1 << 28
"""The largest vocabulary file that is read, decompressed: tokenizers of 250,000 tokens need a
tenth of it."""


@dataclass(frozen=True)
class SpecialIds:
    """The ids of tokens that are not text. The defaults are those of `SPECIALS`.

    A pretrained tokenizer has ids of its own, and tokens that it lacks are None. Some of its tokens
    have two roles: T5 starts decoding from its padding token, for example.
    """

    pad: int = PAD
    bos: int = BOS  # what a decoder reads before the first token
    eos: int = EOS
    sep: int = SEP  # between two phrases of a sequence
    unk: int | None = UNK
    peos: int | None = PEOS  # between present and absent phrases
    null: int | None = NULL  # a slot of a set model that has no phrase

    def __post_init__(self) -> None:
        distinct = [self.pad, self.eos, self.sep, self.unk, self.peos, self.null]
        ids = [i for i in distinct if i is not None]
        if len(set(ids)) < len(ids) or self.bos == self.sep:
            raise ValueError(f"special tokens must have different ids: {self}")

    @property
    def delimiters(self) -> tuple[int, ...]:
        """The tokens that end a phrase."""
        return (self.sep, *(() if self.peos is None else (self.peos,)), self.eos)

    @property
    def never_generated(self) -> tuple[int, ...]:
        """The tokens that no target contains."""
        return (self.pad,) if self.bos in (self.pad, self.eos) else (self.pad, self.bos)


@dataclass(frozen=True)
class EncodedSource:
    """A document as a model reads it. It has at least one position, even for an empty document."""

    ids: Sequence[int]  # [S] for the encoder's embedding
    extended: Sequence[int]  # [S] in the output space; `pad` at positions that cannot be copied
    title_length: int  # how many leading positions are the title
    extension: tuple[str, ...]  # the tokens of ids V, V + 1, ...
    extension_inputs: Sequence[int]  # [X] ids of those tokens for the encoder's embedding


class Lexicon(Protocol):
    """What batches, models and decoders need to know about a vocabulary."""

    @property
    def special(self) -> SpecialIds:
        """The ids of special tokens in the output space."""

    @property
    def size(self) -> int:
        """V: the number of ids that can be generated without copying, special ones included."""

    @property
    def input_size(self) -> int:
        """The number of different ids that `EncodedSource.ids` can hold."""

    @property
    def input_ids(self) -> Sequence[int]:
        """[V]: the input id of each id of the vocabulary, to embed a generated token."""

    def encode_document(self, document: Document, max_source: int | None) -> EncodedSource:
        """The first `max_source` tokens. In the text, `BLANK` stands for the padding token and
        `<unk>` for the unknown one; no other special token can come from a text."""

    def encode_phrase(self, words: Sequence[str], extension: Sequence[str]) -> list[int]:
        """Ids in the output space; unknown for what is in neither vocabulary nor extension."""

    def decode(self, ids: Iterable[int], extension: Sequence[str]) -> list[str]:
        """The words that ids of the output space spell; special tokens are written by name."""

    def content(self) -> object:
        """The `Content` from which this vocabulary can be restored."""


class _File(msgspec.Struct, forbid_unknown_fields=True):
    kind: str
    content: msgspec.Raw


def build(chosen: config.Part, documents: Iterable[Document]) -> Lexicon:
    """The vocabulary that a config asks for, built from the training documents."""
    module, settings = config.part(chosen, PACKAGE, "data.vocabulary", NOUN)
    built: Lexicon = module.build(settings, documents)
    return built


def save(lexicon: Lexicon, path: str | Path) -> None:
    kind = type(lexicon).__module__.removeprefix(f"{PACKAGE}.")
    content = msgspec.Raw(msgspec.json.encode(lexicon.content()))
    with atomic_write(path, "wb") as file:
        cast(IO[bytes], file).write(msgspec.json.encode(_File(kind, content)))


def load(path: str | Path) -> Lexicon:
    """The vocabulary that `save` wrote. The file decides its kind, and runs no code of its own."""
    try:
        read = msgspec.json.decode(read_bytes(path, MAX_BYTES), type=_File)
        module = parts.module(PACKAGE, read.kind, NOUN)
        restored: Lexicon = module.restore(msgspec.json.decode(read.content, type=module.Content))
    except (UnknownNameError, ValueError, *NOT_JSON) as error:
        raise DataError(f"is not a vocabulary: {error}", path) from None
    return restored
