"""A vocabulary of the most frequent words of the training documents.

Words are those of `text.tokenise`: lower case, numbers as `<digit>`. A word of the source that
cannot be generated can be copied. A model may read more words than it generates: reading one costs
a row of the embedding, generating one a product at every step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Self

import msgspec

from keywright.config import Count
from keywright.data.parallel import in_processes, usable_cpus
from keywright.data.store import Stored
from keywright.lexicon import BLANK, PAD, SPECIALS, UNK, EncodedSource, SpecialIds
from keywright.text.tokenise import model_words, words
from keywright.types import Document

MANY = 50_000  # documents, whose words several processes count
CHUNK = 2_000  # documents that a process gets at a time


@dataclass(frozen=True)
class Config:
    size: Count = 50_000  # ids that can be generated, special ones included
    input_size: Count | None = None  # ids that can be read: the same, or more of the same ranking

    def __post_init__(self) -> None:
        if self.input_size is not None and self.input_size < self.size:
            raise ValueError(
                f"input_size ({self.input_size}) is less than size ({self.size}): a model reads "
                "every word that it generates"
            )


class Content(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    words: list[str]  # in the order of their ids, special ones left out
    generated: int | None = None  # how many of them can be generated; None: all


def build(config: Config, documents: Iterable[Document]) -> Vocabulary:
    return Vocabulary.build(documents, config.size, config.input_size)


def restore(content: Content) -> Vocabulary:
    return Vocabulary(content.words, content.generated)


class Vocabulary:
    """Words by their ids. Those that can be generated have the same ids in input and output."""

    special = SpecialIds()

    def __init__(self, words: Sequence[str], generated: int | None = None):
        """`words` in the order of their ids, special ones left out; the first `generated` of them
        can be generated, the others only be read."""
        if generated is not None and not 0 <= generated <= len(words):
            raise ValueError(f"{generated} of {len(words)} words cannot be generated")
        self.words = (*SPECIALS, *words)
        self.size = len(SPECIALS) + (len(words) if generated is None else generated)
        # Special tokens are not looked up: a text that contains "<eos>" must not end a sequence.
        # Only unknown words and blanks have the same meaning in a text as they have here.
        self._read = {word: len(SPECIALS) + i for i, word in enumerate(words)}
        if len(self._read) != len(words) or not self._read.keys().isdisjoint(SPECIALS):
            raise ValueError("the words must be distinct and none of them may be a special token")
        self._read |= {SPECIALS[UNK]: UNK, BLANK: PAD}
        self._ids = {word: i for word, i in self._read.items() if i < self.size}

    @property
    def input_size(self) -> int:
        return len(self.words)

    @property
    def input_ids(self) -> Sequence[int]:
        return range(self.size)

    @classmethod
    def build(cls, documents: Iterable[Document], size: int, input_size: int | None = None) -> Self:
        """The most frequent words of texts and keyphrases: `size` ids, special ones included.

        Equally frequent words are added in alphabetical order, so that the order of the documents
        does not matter. The words up to `input_size` ids can only be read.
        """
        counts = _counted(documents)
        for special in SPECIALS:
            counts.pop(special, None)
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        generated, read = (max(0, ids - len(SPECIALS)) for ids in (size, input_size or size))
        chosen = [word for word, _ in ranked[:read]]
        return cls(chosen, min(generated, len(chosen)))

    def encode_document(self, document: Document, max_source: int | None) -> EncodedSource:
        title, body = model_words(document)
        source = [*title, *body][:max_source] or [SPECIALS[UNK]]
        lookup = self._ids.get
        extension: dict[str, int] = {}
        extended = []
        for word in source:
            known = lookup(word)
            extended.append(
                extension.setdefault(word, self.size + len(extension)) if known is None else known
            )
        read = self._read.get
        return EncodedSource(
            ids=[read(word, UNK) for word in source],
            extended=extended,
            title_length=min(len(title), len(source)),
            extension=tuple(extension),
            extension_inputs=[read(word, UNK) for word in extension],
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

    def content(self) -> Content:
        words = list(self.words[len(SPECIALS) :])
        generated = self.size - len(SPECIALS)
        return Content(words, None if generated == len(words) else generated)


def _counted(documents: Iterable[Document]) -> Counter[str]:
    """How often each word occurs; a corpus too large for memory is counted by several processes."""
    if not isinstance(documents, Stored) or len(documents) < MANY:
        return _count(documents)
    chunks = (list(documents[at : at + CHUNK]) for at in range(0, len(documents), CHUNK))
    counts: Counter[str] = Counter()
    for more in in_processes(_count, chunks, usable_cpus()):
        counts.update(more)
    return counts


def _count(documents: Iterable[Document]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for document in documents:
        counts.update(chain(*model_words(document)))
        for phrase in document.keyphrases or ():
            counts.update(words(phrase, document.tokenised))
    return counts
