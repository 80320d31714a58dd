"""A vocabulary of wordpieces: any word can be read, and almost any word can be generated.

The encoder reads all wordpieces of a pretrained model. The decoder generates those that are
frequent in keyphrases and copies others from the source: the extension holds wordpieces (`##ing`)
and words that cannot be split into pieces. Words are those of `text.tokenise`, so that phrases
decode to the words that everything else counts and compares.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import msgspec

from keywright.config import Count
from keywright.data import minilm, pretrained
from keywright.errors import ConfigError, DataError
from keywright.files import read_text
from keywright.lexicon import BLANK, PAD, SPECIALS, UNK, EncodedSource, SpecialIds
from keywright.text.tokenise import DIGIT, model_words, words
from keywright.types import Document

CONTINUES = "##"
"""The prefix of wordpieces that continue a word."""
LONGEST_WORD = 100
"""Longer words are not split: they are not real words, and splitting takes quadratic time."""
MAX_CACHED_WORDS = 500_000
"""The number of different words whose pieces are cached."""
MINILM = "minilm"

# The pieces that the embedding reads for special ids and for `<digit>`: their pretrained meaning is
# similar, or no word is split into them.
_READ_AS = dict(
    zip(SPECIALS, ("[PAD]", "[CLS]", "[SEP]", "[UNK]", ";", "|", "[MASK]"), strict=True)
)
_READ_AS[DIGIT] = "0"


@dataclass(frozen=True)
class Config:
    size: Count = 12_000  # ids that can be generated, special ones included
    # "minilm", or the folder or hub name of a BERT-like encoder, whose vocab.txt lists wordpieces.
    encoder: str = MINILM


class Content(msgspec.Struct, forbid_unknown_fields=True):
    pieces: list[str]  # that the encoder reads, in the order of their ids
    outputs: list[str]  # that can be generated, special ones left out


def build(config: Config, documents: Iterable[Document]) -> WordpieceVocabulary:
    try:
        return WordpieceVocabulary.build(documents, config.size, wordpieces(config.encoder))
    except ValueError as error:
        raise ConfigError(f"data.vocabulary.encoder: {config.encoder}: {error}") from None


def restore(content: Content) -> WordpieceVocabulary:
    return WordpieceVocabulary(content.pieces, content.outputs)


def wordpieces(encoder: str = MINILM) -> list[str]:
    """The wordpieces of an encoder, in the order of their ids."""
    if encoder == MINILM:
        return minilm.wordpieces()
    try:
        file = pretrained.wordpiece_folder(encoder) / pretrained.VOCABULARY
    except DataError as error:
        raise ConfigError(f"data.vocabulary.encoder: {error}, or {MINILM!r}") from None
    if not file.is_file():
        raise ConfigError(f"data.vocabulary.encoder: {encoder} has no {pretrained.VOCABULARY}")
    return read_text(file).split("\n")


class Piece(NamedTuple):
    text: str
    input: int  # id for the encoder's embedding
    output: int | None  # id in the vocabulary, None for pieces that can only be copied


class WordpieceVocabulary:
    special = SpecialIds()

    def __init__(self, pieces: Sequence[str], outputs: Sequence[str]):
        """All wordpieces, and those that can be generated (without special tokens), by id."""
        self.pieces = tuple(pieces)
        self.outputs = (*SPECIALS, *outputs)
        self._inputs = {piece: i for i, piece in enumerate(pieces)}
        self._outputs = {piece: len(SPECIALS) + i for i, piece in enumerate(outputs)}
        self._words: dict[str, tuple[Piece, ...]] = {}
        if len(self._outputs) != len(outputs) or not self._outputs.keys().isdisjoint(SPECIALS):
            raise ValueError("the pieces must be distinct and none may be a special token")
        if not pieces or pieces[PAD] != _READ_AS[BLANK]:
            raise ValueError(f"the first wordpiece must be {_READ_AS[BLANK]}")
        missing = sorted({*_READ_AS.values()} - self._inputs.keys())
        if missing:
            raise ValueError(f"the wordpieces lack {' '.join(missing)}")
        self._outputs |= {SPECIALS[UNK]: UNK, BLANK: PAD}

    @property
    def size(self) -> int:
        return len(self.outputs)

    @property
    def input_size(self) -> int:
        return len(self.pieces)

    @property
    def input_ids(self) -> Sequence[int]:
        return [self._input(piece) for piece in self.outputs]

    @classmethod
    def build(
        cls, documents: Iterable[Document], size: int, pieces: Sequence[str] | None = None
    ) -> Self:
        """Generate the wordpieces most frequent in keyphrases: `size` ids, special ones included.

        `pieces` are MiniLM's by default. Equally frequent ones are added in alphabetical order.
        """
        pieces = wordpieces() if pieces is None else pieces
        reader = cls(pieces, [])
        counts: Counter[str] = Counter()
        for document in documents:
            for phrase in document.keyphrases or ():
                for word in words(phrase, document.tokenised):
                    counts.update(piece.text for piece in reader.split(word))
        frequent = [
            piece
            for piece, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
            if (piece in reader._inputs or piece == DIGIT) and piece not in SPECIALS
        ]
        return cls(pieces, frequent[: max(0, size - len(SPECIALS))])

    def split(self, word: str) -> tuple[Piece, ...]:
        """The pieces of a word; a word that cannot be split is one piece, which can be copied."""
        pieces = self._words.get(word)
        if pieces is None:
            if len(self._words) >= MAX_CACHED_WORDS:
                self._words.clear()
            pieces = tuple(
                Piece(text, self._input(text), self._outputs.get(text)) for text in self._cut(word)
            )
            self._words[word] = pieces
        return pieces

    def encode_document(self, document: Document, max_source: int | None) -> EncodedSource:
        """`[CLS] title [SEP] body [SEP]`; these marks count as tokens and cannot be copied.

        A source that is too long is cut before its last mark; at least one piece remains.
        """
        title, body = (list(self._pieces(part)) for part in model_words(document))
        if max_source is not None:
            room = max(1, max_source - 1 - bool(title) - bool(body))
            title, body = title[:room], body[: max(0, room - len(title))]
        if not title and not body:
            body = [Piece(SPECIALS[UNK], self._inputs["[UNK]"], UNK)]
        ids, extended = [self._inputs["[CLS]"]], [PAD]
        extension: dict[str, int] = {}
        for part in (title, body):
            if part:
                ids += [*(piece.input for piece in part), self._inputs["[SEP]"]]
                extended += [*(self._extended(piece, extension) for piece in part), PAD]
        return EncodedSource(
            ids=ids,
            extended=extended,
            title_length=len(title) + 2 if title else 0,
            extension=tuple(extension),
            extension_inputs=[self._input(piece) for piece in extension],
        )

    def encode_phrase(self, words: Sequence[str], extension: Sequence[str]) -> list[int]:
        places = {piece: self.size + i for i, piece in enumerate(extension)}
        return [
            places.get(piece.text, UNK) if piece.output is None else piece.output
            for piece in self._pieces(words)
        ]

    def decode(self, ids: Iterable[int], extension: Sequence[str]) -> list[str]:
        words: list[str] = []
        open_word = False  # whether a continuation belongs to the word before it
        for i in ids:
            piece = self.outputs[i] if i < self.size else extension[i - self.size]
            continues = piece.startswith(CONTINUES) and piece in self._inputs
            text = piece.removeprefix(CONTINUES) if continues else piece
            if continues and open_word:
                words[-1] += text
            else:
                words.append(text)
                open_word = piece not in _READ_AS
        return words

    def content(self) -> Content:
        return Content(list(self.pieces), list(self.outputs[len(SPECIALS) :]))

    def _pieces(self, words: Iterable[str]) -> Iterator[Piece]:
        for word in words:
            yield from self.split(word)

    def _input(self, piece: str) -> int:
        unknown = self._inputs["[UNK]"]
        return self._inputs.get(_READ_AS.get(piece, piece), unknown)

    def _extended(self, piece: Piece, extension: dict[str, int]) -> int:
        if piece.output is not None:
            return piece.output
        return extension.setdefault(piece.text, self.size + len(extension))

    def _cut(self, word: str) -> list[str]:
        """As BERT does: without accents, always the longest piece that fits."""
        if word in _READ_AS or len(word) > LONGEST_WORD:
            return [word]
        plain = _without_accents(word)
        pieces: list[str] = []
        start = 0
        while start < len(plain):
            for end in range(len(plain), start, -1):
                piece = plain[start:end] if start == 0 else CONTINUES + plain[start:end]
                # A word that begins with "##" is not a continuation.
                if piece in self._inputs and not (start == 0 and piece.startswith(CONTINUES)):
                    pieces.append(piece)
                    start = end
                    break
            else:
                return [word]
        return pieces or [word]


def _without_accents(word: str) -> str:
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFD", word.lower())
    return "".join(char for char in decomposed if unicodedata.category(char) != "Mn")
